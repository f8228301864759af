"""Whether two texts say the same, or the same with another value."""

from __future__ import annotations

import pytest

from catmem.tidying.wording import differences, relation, wording_of


def related(one, other):
    found = relation(wording_of(one), wording_of(other))
    assert relation(wording_of(other), wording_of(one)) == found
    return found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Prefers short answers in chat.", "In chat the user prefers short answers."),
        ("Invoices are due on the 15th of each month.", "Invoice is due on the 15th of every month."),
        ("Documentation is in British English.", "Docs are in British English."),
        ("The appointment is at noon.", "The appt is at noon."),
        ("PRs need two approvals.", "Pull requests need 2 approvals."),
        ("The API is switched off on 30 September 2026.", "API is switched off on 2026-09-30."),
        ("Never schedule calls before 10:00.", "Don't schedule calls before 10:00."),
        ("Health insurance: AOK, no. T482913", "Health insurance is with the AOK, number T482913."),
        ("Der Steuerberater heißt Herr Lindner.", "Steuerberater heißt: Herr Lindner"),
        ("Geschäftsführer ist Jürgen Maier.", "Der Geschäftsführer ist Jürgen Maier."),
        ("Reminders go out after 14 days", "Reminders are sent after 14 days"),
        ("Mahnungen gehen nach 21 Tagen raus.", "Mahnungen werden nach 21 Tagen verschickt."),
        ("The team meeting is on Mondays at 10:00.", "Team meeting: Monday, 10 am"),
        ("Parcels leave at 4 p.m.", "Parcels leave at 16:00."),
        ("Der Jour fixe ist dienstags um 9.30 Uhr.", "Jour fixe: Dienstag, 9:30 Uhr"),
        ("The rent is 1.200 €.", "The rent is €1,200."),
        ("The price is 1.200,50 €.", "The price is 1,200.50 EUR."),
        ("Der Vertrag endet am 3. März 2027.", "Vertrag endet am 03.03.2027"),
        ("", ""),
    ],
)
def test_the_same_in_other_words(one, other):
    assert related(one, other) == "same"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The standup is at 9:30.", "Standup is at 10:00 every day."),
        ("The vendor for hosting is Nordwind.", "Hosting vendor is Southgate."),
        ("Passport number C01X00T47", "Passport number: C99Z11K30"),
        ("The wedding is on 14 June.", "Wedding: 16 June"),
        ("The server is called heron.", "Server is named bittern."),
        ("The dog weighs 18 kg.", "Dog weighs 21 kg."),
        ("The rent is 1,400 € a month.", "The rent is 1,450 € a month."),
        ("Die Miete beträgt 1.200 € im Monat.", "Die Miete beträgt 1.300 €."),
        ("Invoices above €5,000 need Jürgen's signature.", "Invoices above €10,000 need Jürgen's signature."),
        ("Cleaning is done on Tuesdays and Fridays.", "Cleaning is done on Mondays and Thursdays."),
        ("Geschäftsführer ist Jürgen Maier.", "Der Geschäftsführer ist Anna Huber."),
        ("Der Ansprechpartner ist Herr Kern.", "Ansprechpartner: Frau Lutz"),
        ("The shift ends at 12 am.", "The shift ends at 12 pm."),
        ("The domain costs $14 a year.", "The domain costs $19 a year."),
    ],
)
def test_the_same_with_another_value(one, other):
    assert related(one, other) == "otherwise"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Prefers tabs in Python.", "Prefers spaces in YAML."),
        ("Emma is 9 years old.", "Jonas is 5 years old."),
        ("Emma is allergic to nuts.", "Jonas is allergic to nuts."),
        ("Call before noon.", "Call after noon."),
        ("Prefers trains over planes.", "Prefers planes over trains."),
        ("Use the work account, not the private one.", "Use the private account, not the work one."),
        ("Lena may approve refunds.", "Lena may not approve refunds."),
        ("Uses Java at work.", "Uses JavaScript at work."),
        ("Order number 4002171 is late.", "Order number 4002188 is late."),
        ("Server number 12", "Server number 13"),
        ("Parking is free.", "Parking is free for customers with a receipt."),
        ("Room 204 has a whiteboard.", "Room 207 has a whiteboard."),
        ("Standup on Monday is at 9:15.", "Standup on Thursday is at 11:00."),
        ("The vendor for laptops is Bechtle.", "The vendor for toner is Viking."),
        ("Das Büro mag Äpfel.", "Das Büro mag Birnen."),
        ("Das Lager ist Sache von Anna.", "Das Lager ist Eigentum von Anna."),
        ("The budget is $40.", "The budget is 40 €."),
        ("In 2025 the audit found two issues.", "In 2026 the audit found two issues."),
        ("The first reminder goes out after 14 days.", "The second reminder goes out after 28 days."),
        ("Use the card for fuel.", "Use the card for fuel only."),
    ],
)
def test_two_things(one, other):
    assert related(one, other) is None


def test_what_is_left_over_is_in_the_words_of_each_text():
    left = differences(wording_of("The dentist is Dr. Amari."), wording_of("Dentist is Dr. Klee."))
    assert [[word.raw for word in words] for words in left] == [["Amari"], ["Klee"]]

"""Exports as ad platforms write them, made by hand: title lines, totals, notes, local numbers and dates."""

import datetime

import pytest

from rotting.logs import LogError, ReadOptions
from rotting.logs.read.reading import read_log

DAYS = [datetime.date(2024, 1, 8) + datetime.timedelta(days=day) for day in range(35)]
ROWS = [(day, ad, 950 + 41 * place, 20 + place % 17) for place, day in enumerate(DAYS) for ad in ("Rot", "Blau 2")]
SHOWN, CLICKS = sum(row[2] for row in ROWS), sum(row[3] for row in ROWS)


def grouped(number, mark):
    return f"{number:,}".replace(",", mark)


def table(header, write, mark=",", above="", below="", rows=ROWS):
    """Write a table of text: a header, a line per row, and what the platform writes above and below."""
    lines = [mark.join(header), *(mark.join(map(str, write(*row))) for row in rows)]
    return above + "\n".join(lines) + "\n" + below


def google(day, ad, shown, clicks):
    return day, ad, "Enabled", f'"{shown:,}"', clicks, "2.30%", "EUR", "12.50"


def german(day, ad, shown, clicks):
    return f"{day:%d.%m.%Y}", ad, grouped(shown, "."), clicks, "2,30 %", "1.012,50"


def halves(day, ad, shown, clicks):
    first = (day, ad, 9, shown // 2, clicks // 2)
    return [first, (day, ad, 18, shown - first[3], clicks - first[4])]


GOOGLE = ["Day", "Ad name", "Ad status", "Impr.", "Clicks", "CTR", "Currency code", "Cost"]
GERMAN = ["Tag", "Anzeigenname", "Impr.", "Klicks", "CTR", "Kosten"]
HOURS = [row for each in ROWS for row in halves(*each)]
TITLE = "Ad report\n8 January 2024 - 11 February 2024\n"
MICROSOFT = ["Gregorian date", "Ad ID", "Impressions", "Clicks", "Spend"]
LINKEDIN = ["Start Date (in UTC)", "Campaign Name", "Creative Name", "Ad ID", "Total Spent", "Impressions", "Clicks"]
DV360 = ["Date", "Line Item", "Creative", "Creative ID", "Impressions", "Clicks", "Click Rate (CTR)"]
EXPORTS = {
    "Google Ads": table(GOOGLE, google, above=TITLE, below=f'Total: Account,--,--,"{SHOWN:,}",{CLICKS},2%,EUR,1\n'),
    "Google Ads, the total in another column": table(
        ["Ad status", "Ad", "Day", "Impr.", "Clicks"],
        lambda day, ad, shown, clicks: ("Enabled", ad, day, shown, clicks),
        below=f"Total: Ads, --, --,{SHOWN},{CLICKS}\n",
    ),
    "Google Ads, German": table(
        GERMAN, german, ";", TITLE, f"Gesamt: Konto;--;{grouped(SHOWN, '.')};{CLICKS};2,3 %;1,5\n"
    ),
    "Google Ads, German, UTF-16 with tabs": table(GERMAN, german, "\t", TITLE).encode("utf-16"),
    "Google Ads, French": table(
        ["Jour", "Nom de l'annonce", "Impressions", "Clics", "CTR"],
        lambda day, ad, shown, clicks: (f"{day:%d/%m/%Y}", ad, grouped(shown, "\u202f"), clicks, '"2,3\u00a0%"'),
        below=f"Total : Compte,--,{SHOWN},{CLICKS},--\n",
    ),
    "Google Ads, Japanese": table(
        ["日", "広告名", "表示回数", "クリック数"],
        lambda day, ad, shown, clicks: (f"{day:%Y/%m/%d}", ad, f'"{shown:,}"', clicks),
        below=f'合計: アカウント,--,"{SHOWN:,}",{CLICKS}\n',
    ),
    "TikTok": table(
        ["Ad name", "By Day", "Cost", "Impressions", "Clicks (destination)", "CTR (destination)"],
        lambda day, ad, shown, clicks: (ad, day, "3.20", shown, clicks, "2.3%"),
        below=f"Total of 2 results,-,9.00,{SHOWN},{CLICKS},2.3%\n",
    ),
    "LinkedIn": table(
        LINKEDIN,
        lambda day, ad, shown, clicks: (f"{day:%m/%d/%Y}", "C", ad, 100_200_300 + len(ad), "3.2", shown, clicks),
        "\t",
        "Ad Performance Report (in UTC)\nReport Start:\tJanuary 8, 2024\n\n",
    ).encode("utf-16"),
    "Microsoft": table(
        MICROSOFT,
        lambda day, ad, shown, clicks: (f"{day.month}/{day.day}/{day.year}", ad, shown, clicks, "3.2"),
        above='"Report Name: Ads"\n"Report Time: 1/8/2024,2/11/2024"\n\n',
        below='\n"(c) 2024 Microsoft Corporation. All rights reserved. "\n',
    ),
    "Display & Video 360": table(
        DV360,
        lambda day, ad, shown, clicks: (f"{day:%Y/%m/%d}", "L", ad, f"1{len(ad)}", shown, clicks, "2.3%"),
        below=f",,,,{SHOWN},{CLICKS},2.3%\n\nReport Time:,2024/02/12 00:05 GMT\nGroup By:,Date\nGroup By:,Creative\n",
    ),
    "Google Ad Manager": table(
        ["Date", "Line item", "Creative", "Ad server impressions", "Ad server clicks", "Ad server CTR"],
        lambda day, ad, shown, clicks: (f"{day.month}/{day.day}/{day:%y}", "L", ad, f'"{shown:,}"', clicks, "2.3%"),
        below=f'Total,,,"{SHOWN:,}",{CLICKS},2.3%\n',
    ),
    "Snapchat": table(["Date", "Ad Name", "Paid Impressions", "Swipe Ups", "Spend"], lambda *row: (*row, "3.2")),
    "Matomo": table(["Date", "Content Name", "Impressions", "Content interactions"], lambda *row: row),
    "hours of Google Ads": table(["Day", "Ad", "Hour of the day", "Impr.", "Clicks"], lambda *row: row, rows=HOURS),
    "Yandex": table(
        ["Дата", "№ Объявления", "Показы", "Клики"],
        lambda day, ad, shown, clicks: (f"{day:%d.%m.%Y}", ad, shown, clicks),
        ";",
        "Отчет с 08.01.2024 по 11.02.2024\n",
        f"Всего;;{SHOWN};{CLICKS}\n",
    ),
}


@pytest.mark.parametrize("platform", EXPORTS)
def test_exports_of_ad_platforms(platform, tmp_path):
    content = EXPORTS[platform]
    (tmp_path / "log.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    log = read_log(tmp_path / "log.csv")
    assert sum(arm.exposures for arm in log.arms) == SHOWN
    assert sum(arm.cells.total.sum() for arm in log.arms) == CLICKS
    assert len(log.arms) == 2
    assert datetime.datetime.fromtimestamp(log.first_time, datetime.UTC).date() == DAYS[0]
    assert log.seconds // 86_400 == 34


def test_weeks_are_put_on_their_first_day(tmp_path):
    weeks = [row for row in ROWS if row[0].weekday() == 0]

    def french(day, ad, shown, clicks):
        return f"du {day:%d/%m/%Y} au {day + datetime.timedelta(days=6):%d/%m/%Y}", ad, shown, clicks

    content = table(["Semaine", "Annonce", "Impressions", "Clics"], french, rows=weeks)
    (tmp_path / "log.csv").write_text(content)
    assert read_log(tmp_path / "log.csv").seconds == 28 * 86_400


def test_ranges_of_days_are_read_in_the_form_that_is_asked_for(tmp_path):
    weeks = [row for row in ROWS if row[0].weekday() == 0 and row[0].day < 13]

    def as_range(day, ad, shown, clicks):
        return f"{day:%d/%m/%Y} - {day:%d/%m/%Y}", ad, shown, clicks

    (tmp_path / "log.csv").write_text(table(["Week", "Ad", "Impressions", "Clicks"], as_range, rows=weeks))
    with pytest.raises(LogError, match=r"in two ways.*such as '%d/%m/%Y'"):
        read_log(tmp_path / "log.csv")
    log = read_log(tmp_path / "log.csv", ReadOptions(date_format="%d/%m/%Y"))
    assert log.seconds == 28 * 86_400


@pytest.mark.parametrize(
    ("header", "write", "said"),
    [
        (
            ["Hour of the day", "Ad", "Impr.", "Clicks"],
            lambda day, *rest: (day.day % 24, *rest),
            "time seems to stand in",
        ),
        (
            ["Day of the week", "Ad", "Impr.", "Clicks"],
            lambda day, *rest: (f"{day:%A}", *rest),
            "no column holds times",
        ),
        (["Monat", "Anzeige", "Impr.", "Klicks"], lambda day, *rest: (f"{day:%B}", *rest), "time seems to stand in"),
        (
            ["Woche", "Anzeige", "Impr.", "Klicks"],
            lambda day, *rest: (f"KW {day:%V}", *rest),
            "no time that can be|not a time",
        ),
        (
            ["Day", "Ad", "Impr.", "Clicks"],
            lambda day, ad, shown, clicks: (day, ad, shown, clicks if clicks > 30 else "< 30"),
            "not a finite",
        ),
        (
            ["Day", "Ad", "Impr.", "clicked_at"],
            lambda day, ad, shown, _: (day, ad, shown, day),
            "looks like the reward",
        ),
    ],
)
def test_what_tells_no_order_or_no_number_is_refused(header, write, said, tmp_path):
    (tmp_path / "log.csv").write_text(table(header, write))
    with pytest.raises(LogError, match=said):
        read_log(tmp_path / "log.csv")


def test_costs_in_micros_are_millionths(tmp_path):
    content = table(["date", "ad_name", "impressions", "clicks", "cost_micros"], lambda *row: (*row, 3_200_000))
    (tmp_path / "log.csv").write_text(content)
    assert [arm.spend for arm in read_log(tmp_path / "log.csv").arms] == [pytest.approx(3.2 * len(DAYS))] * 2


def test_notes_below_each_of_several_exports(tmp_path):
    for number, rows in enumerate((ROWS[:30], ROWS[30:])):
        content = table(["Day", "Ad name", "Impressions", "Clicks"], lambda *row: row, below="\n(c) 2024\n", rows=rows)
        (tmp_path / f"{number}.csv").write_text(content)
    log = read_log(tmp_path)
    assert sum(arm.exposures for arm in log.arms) == SHOWN
    assert log.notes == ("Lines below the table were left out: 1.", "Read as one log: 2 files.")

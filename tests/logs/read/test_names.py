"""Columns are found by their names in the languages of ad platforms, and what only sounds like one is not taken."""

import pandas
import pytest

from rotting.logs import LogError
from rotting.logs.read.names import is_called, mentions, month_of
from rotting.logs.read.options import ReadOptions
from rotting.logs.read.reading import read_log
from small_logs import small

DAYS = pandas.date_range("2024-01-01", periods=40)
# Time, arm, impressions, clicks, spend, reach and frequency, in headers as ad platforms write them.
HEADERS = {
    "English": "Reporting starts;Ad name;Impressions;Link clicks;Amount spent (USD);Reach;Frequency",
    "German": "Tag;Name der Anzeige;Impressionen;Klicks (alle);Ausgegebener Betrag (EUR);Reichweite;Frequenz",
    "French": "Jour;Nom de la publicité;Impressions;Clics sur un lien;Montant dépensé (EUR);Couverture;Répétition",
    "Spanish": "Día;Nombre del anuncio;Impresiones;Clics en el enlace;Importe gastado (EUR);Alcance;Frecuencia",
    "Portuguese": "Início dos relatórios;Nome do anúncio;Impressões;Cliques no link;Valor usado;Alcance;Frequência",
    "Italian": "Giorno;Nome dell'inserzione;Impressioni;Clic sul link;Importo speso (EUR);Copertura;Frequenza",
    "Dutch": "Dag;Naam advertentie;Vertoningen;Klikken op link;Besteed bedrag (EUR);Bereik;Frequentie",
    "Polish": "Dzień;Nazwa reklamy;Wyświetlenia;Kliknięcia linku;Wydana kwota (PLN);Zasięg;Częstotliwość",
    "Turkish": "Gün;Reklam Adı;Gösterimler;Bağlantı Tıklamaları;Harcanan Tutar (TRY);Erişim;Sıklık",
    "Japanese": "日付;広告の名前;インプレッション数;クリック数（すべて）;消化金額 (JPY);リーチ;フリークエンシー",
    "Swedish": "Dag;Annonsnamn;Visningar;Klickningar (alla);Spenderat belopp (SEK);Räckvidd;Frekvens",
    "Chinese": "日期;广告名称;展示次数;点击量;花费金额;覆盖人数;频次",
    "Korean": "날짜;광고 이름;노출수;클릭수;비용;도달;빈도",
    "Russian": "Дата;Название объявления;Показы;Клики;Расход (RUB);Охват;Частота",
}


def export(header, **more):
    """Return an export of two ads and forty days with this header, and with what platforms put beside it."""
    names = header.split(";")
    rows = [(day, ad, 1000 + 7 * place, 40 + place % 9) for place, day in enumerate(DAYS) for ad in ("x", "y")]
    frame = pandas.DataFrame(rows, columns=names[:4])
    frame[names[4]] = [f"{1000 + row},50" for row in range(80)]
    frame[names[5]], frame[names[6]] = range(900, 980), [1.5 + row / 100 for row in range(80)]
    return frame.assign(created_at=pandas.Timestamp("2024-03-01"), CTR=0.04, **more)


@pytest.mark.parametrize("language", HEADERS)
def test_exports_in_many_languages(language):
    names = HEADERS[language].split(";")
    log = read_log(export(HEADERS[language]))
    found = log.columns
    assert [found.time, found.arm, found.impressions, found.reward] == names[:4]
    roles = {each.role: each.name for each in log.covariates}
    assert roles == {"spend": names[4], "reach": names[5], "frequency": names[6]}
    [first, second] = log.arms
    assert first.spend + second.spend == sum(1000.5 + row for row in range(80))
    assert max(first.reach, second.reach) == 979
    assert 1.5 < first.frequency < 2.3


@pytest.mark.parametrize(
    ("column", "role"),
    [
        ("adId", "arm"),
        ("Ads", "arm"),
        ("# of Impressions", "impressions"),
        ("metrics.clicks", "counted"),
        ("Custo total", "spend"),
        ("AVG. POSITION", "position"),
        ("propensity_score", "propensity"),
        ("created_at", "recorded"),
    ],
)
def test_whole_names(column, role):
    assert is_called(column, role)


@pytest.mark.parametrize(
    "column", ["Coût par clic (CPC)", "CPC (Kosten pro Klick)", "Costo por resultado", "CTR (todos)"]
)
def test_prices_and_rates_are_no_sums(column):
    assert mentions(column, "ratio", "part")


def test_months_in_many_languages():
    words = "März févr. enero maio giugno mei czerwiec Ağustos juillet dez. октября Dec"
    assert [month_of(word) for word in words.split()] == [3, 2, 1, 5, 6, 5, 6, 8, 7, 12, 10, 12]


def test_names_that_may_mean_impressions_are_asked_for():
    frame = export(HEADERS["English"]).rename(columns={"Impressions": "Impressions on mobile"})
    with pytest.raises(LogError, match="'Impressions on mobile' may hold how many exposures"):
        read_log(frame)


def test_texts_are_no_rewards():
    log = read_log(small(score=["low", "high"] * 30).rename(columns={"reward": "label"}))
    assert log.columns.reward == "label"
    with pytest.raises(LogError, match="no column looks like the reward"):
        read_log(small(reward=["low", "high"] * 30))


def test_what_never_changes_is_taken_last():
    log = read_log(small(item="home", creative=["x", "y"] * 30).drop(columns="arm"))
    assert log.columns.arm == "creative"
    assert read_log(small(clicks=0).drop(columns="reward").assign(sales=[0, 1] * 30)).columns.reward == "sales"


def test_a_few_impossible_sums_are_left_out():
    frame = export(HEADERS["English"])
    more = pandas.concat([frame, frame, frame.assign(**{"Ad name": "z"})]).assign(
        part=[f"p{row % 3}" for row in range(240)]
    )
    more.iloc[5, 3] = 5000
    log = read_log(more, ReadOptions(reward="Link clicks"))
    assert (log.dropped, log.binary) == ({"more rewards than impressions": 1}, True)

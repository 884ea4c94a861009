"""The names that columns have, in the languages of ad platforms: a table, and one way to look a name up in it.

Names are compared as whole words without accents and capital letters; units in brackets, plurals and what stands
before a dot do not matter: "Amount spent (EUR)", "Impressões", "metrics.clicks".
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable

# What a column is for, and what it is called then: the likeliest names first.
_TABLE = """
arm: arm, item id, item, creative id, creative name, creative, ad id, ad name, ad, template id, template,
 variant, variation, treatment, banner id, banner, article id, product id, content id, asset id, asset,
 video id, video, keyword, name der anzeige, anzeigenname, anzeigen id, anzeigentitel, anzeige, werbeanzeige,
 werbemittel, motiv, variante, nom de la publicite, identifiant de la publicite, publicite, nom de l annonce,
 annonce, creation, banniere, nombre del anuncio, identificador del anuncio, id del anuncio, anuncio,
 creatividad, nome do anuncio, id do anuncio, identificacao do anuncio, criativo, nome dell inserzione,
 nome inserzione, id inserzione, inserzione, nome dell annuncio, annuncio, creativita, naam advertentie,
 advertentienaam, advertentie id, advertentie, uiting, nazwa reklamy, identyfikator reklamy, reklama, kreacja,
 wariant, baner, reklam adi, reklam kimligi, reklam, kreatif, varyant, 広告id, 広告の名前, 広告名, 広告,
 クリエイティブ名, クリエイティブ, バリエーション, annonsnamn, annons id, annons, 广告名称, 广告id, 广告编号,
 广告, 创意名称, 创意, 素材名称, 素材, 廣告名稱, 廣告, 광고 이름, 광고명, 광고 id, 광고, 소재명, 소재,
 название объявления, id объявления, номер объявления, объявление, объявления, креатив, баннер, вариант, headline,
 headline id, sku, asin, pin, exercise id, message id, subject line, subject, option, action, choice,
 test group, experiment group, ab group, experiment, condition, group, movie id, song id, track id, news id,
 post id, story id, document id, doc id, content name, content piece, utm content
campaign: campaign number, campaign id, campaign name, campaign, ad set name, ad set id, ad set, adset name,
 adset id, adset, ad group, ad group name, ad group id, adgroup, kampagne, kampagnenname, name der kampagne,
 anzeigengruppe, anzeigengruppenname, campagne, nom de la campagne, ensemble de publicites,
 nom de l ensemble de publicites, groupe d annonces, campana, nombre de la campana, conjunto de anuncios,
 nombre del conjunto de anuncios, grupo de anuncios, campanha, nome da campanha, nome do conjunto de anuncios,
 campagna, nome della campagna, nome campagna, gruppo di inserzioni, nome del gruppo di inserzioni,
 gruppo di annunci, campagnenaam, naam campagne, advertentieset, advertentiegroep, kampania, nazwa kampanii,
 zestaw reklam, grupa reklam, kampanya, kampanya adi, reklam seti, reklam seti adi, reklam grubu, キャンペーン,
 キャンペーン名, キャンペーンの名前, 広告セット, 広告セット名, 広告グループ, 広告グループ名, kampanj,
 kampanjnamn, 广告系列, 广告活动, 推广计划, 推广单元, 广告组, 广告组名称, 캠페인, 캠페인 이름, 광고 그룹,
 광고 세트, кампания, название кампании, группа объявлений
reward: reward
counted: click, clicked, clicks, link clicks, website clicks, is click, conversion, conversions, converted,
 purchase, purchases, purchased, klicks, klick, linkklicks, klicks auf links, clics, clic, clics sur un lien,
 clics en el enlace, cliques, clique, cliques no link, clic sul link, clic sui link, klikken, klik,
 linkklikken, klikken op link, klikniecia, kliki, klikniecia linku, tiklamalar, tiklama, tiklanma,
 tiklama sayisi, baglanti tiklamalari, クリック数, クリック, リンクのクリック数, リンクのクリック, klickningar,
 lankklick, 点击, 点击量, 链接点击量, 点击次数, 点击数, 點擊, 點擊次數, 클릭, 클릭수, 클릭 수, 링크 클릭, клики, клик,
 переходы, konversionen, konvertierungen, conversiones, conversoes, conversao, conversioni, conversies,
 konwersje, donusumler, donusum, コンバージョン数, コンバージョン, konverteringar, 转化, 转化次数, 转化数,
 전환, 전환수, 구매완료 수, конверсии, kaufe, achats, compras, acquisti, aankopen, zakupy, satin almalar,
 swipe ups, swipe up, swipes, content interactions,
 購入数, 購入, kop, 购买, 구매, покупки, sales, results, installs, ergebnisse, resultats, resultados,
 risultati, resultaten, wyniki, sonuclar, 結果, 成效, 结果, 결과, результаты
amount: revenue, umsatz, einnahmen, erlos, erlose, revenus, revenu, chiffre d affaires, recettes, ingresos,
 receita, ricavi, entrate, fatturato, omzet, przychod, przychody, gelir, ciro, 売上, 売上高, 収益, intakter,
 收入, 매출, 매출액, 수익, доход, выручка, conv value, conversion value, purchase value, conversionwert,
 valor de conversion, valor da conversao
score: opened, opens, open, rating, score, success, correct, value, label, outcome
outcome: engagement, engaged, bounce, bounced, dwell, dwell time, duration, watched, completed, completion,
 liked, like, likes, shared, comment, comments, commented, saved, saves, follow, followed, follows, signup,
 signups, signed up, lead, leads, cart, add to cart, checkout, order, ordered, orders, paid, refund, refunded,
 churn, churned, unsubscribed, response, responded, replied, visit, visits, visited, install, installed,
 registration, registrations, profit, session, returned, retention, exit, spent on site, time on page,
 subscribed, deposit, approved, won, feedback, happy
impressions: impressions, impr, imps, displays, exposures, impressionen, einblendungen, impressiones, impresiones,
 impressoes, impressioni, vertoningen, weergaven, wyswietlenia, gosterim, gosterimler, gosterim sayisi,
 インプレッション数, インプレッション, 表示回数, visningar, exponeringar, 展示次数, 展示, 展示量, 展示数, 曝光,
 曝光量, 曝光次数, 曝光数, 노출, 노출수, 노출 수, показы, affichages, exibicoes, paid impressions,
 ad server impressions
perhaps: impression, view, views, viewed, sends, sent, delivered, deliveries, shown, shows, trial, trials,
 visitors, recipients, ansichten, aufrufe, vues, vistas, visualizacoes, visualizaciones, visualizzazioni,
 odslony, goruntulemeler, просмотры, 浏览量, 조회수
reach: reach, reichweite, portee, couverture, alcance, copertura, bereik, zasieg, erisim, リーチ, rackvidd,
 覆盖人数, 触达, 覆盖, 도달, 도달수, охват, unique reach, unique users
frequency: frequency, frequenz, frequence, repetition, frecuencia, frequencia, frequenza, frequentie,
 czestotliwosc, siklik, frekans, フリークエンシー, frekvens, 频次, 频率, 빈도, частота
spend: spend, spent, cost, costs, budget, amount spent, media cost, kosten, ausgaben, ausgegebener betrag,
 depense, depenses, montant depense, cout, couts, importe gastado, gasto, gastos, inversion, coste, costo,
 costos, valor usado, valor gasto, gastos totais, custo, custos, investimento, importo speso, spesa, costi,
 besteed bedrag, uitgaven, wydana kwota, koszt, koszty, wydatki, harcanan tutar, harcama, maliyet, butce,
 budzet, presupuesto, orcamento, 消化金額, 費用, ご利用額, コスト, 予算, kostnad, spenderat belopp, 花费,
 花费金额, 花費, 消耗, 支出, 费用, 成本, 지출, 지출 금액, 비용, 예산, расход, расходы, затраты,
 потраченная сумма, бюджет
position: position, pos, rank, slot, rang, posicion, posicao, posizione, positie, pozycja, sira, konum,
 掲載順位, 順位, ポジション, 位置, 순위, позиция, avg position, average position, display position,
 ad position
slate: slate size, slate, slate length, list size, list length, page size, num items, n items, number of items,
 num candidates, n candidates, number of candidates, num slots, n slots, ad count, num ads, n ads, items shown
propensity: probability, propensity, propensity score, pscore, action probability, action prob, prob,
 action probs, logging probability, selection probability
unit: user id, user, unit id, unit, visitor id, customer id, session id, device id, member id, uid, cookie id,
 reader id, recipient id, nutzer id, benutzer id, kunden id, id utilisateur, utilisateur, id de usuario,
 id usuario, usuario id, usuario, id utente, utente, gebruiker, gebruikers id, uzytkownik, id uzytkownika,
 kullanici, kullanici id, ユーザーid, ユーザー, anvandare, 用户id, 用户, 사용자, 사용자 id, пользователь,
 id пользователя
segment: segment, device, platform, os, browser, country, region, city, state, language, gender, sex, age,
 age group, agegroup, age range, channel, placement, audience, cohort, tier, plan, network, source, medium,
 returning, new user, customer type, user type, visitor type, market, locale, target, targeting, position name,
 gerat, plattform, land, sprache, geschlecht, alter, platzierung, zielgruppe, appareil, plateforme, pays, sexe,
 langue, dispositivo, plataforma, pais, sexo, edad, idade, idioma, publico, ubicacion, posicionamento,
 piattaforma, paese, sesso, eta, lingua, pubblico, posizionamento, apparaat, taal, geslacht, leeftijd,
 doelgroep, plaatsing, urzadzenie, platforma, kraj, plec, wiek, umiejscowienie, cihaz, ulke, cinsiyet, yas,
 dil, yerlesim, hedef kitle, デバイス, プラットフォーム, 国, 性別, 年齢, 配置, enhet, kon, alder, 设备, 平台,
 国家, 性别, 年龄, 기기, 플랫폼, 국가, 성별, 연령, устройство, платформа, страна, пол, возраст
time: timestamp, event timestamp, time, datetime, date time, event time, ts, shown at, served at, viewed at,
 sent at, by day, 单日, impression time, impression date, exposure time, event date, date, day, hour, datum, tag, zeit,
 zeitpunkt, zeitstempel, datum uhrzeit, jour, date et heure, horodatage, fecha, fecha y hora, dia, data,
 data e hora, data hora, giorno, data e ora, data ora, dag, tijd, tijdstip, dzien, czas, tarih, gun, zaman,
 日付, 日, 日時, 時刻, tid, tidpunkt, 日期, 天, 时间, 날짜, 일자, 일, 시간, дата, день, время, at
reported: reporting starts, date start, reporting start, berichtsstart, beginn des berichts, auswertungsbeginn,
 auswertungsstart, debut des rapports, debut du rapport, inicio del informe, inicio dos relatorios,
 inicio do relatorio, inizio report, inizio del report, inizio del rapporto, begin rapportage,
 rapportage start, poczatek raportu, poczatek raportowania, rapor baslangici, raporlama baslangici,
 レポート開始日, レポート開始, rapporteringen startar, 报告开始日期, 보고 시작, начало отчета, week, woche,
 semaine, semana, settimana, tydzien, hafta, 週, 周, vecka, неделя, month, monat, mois, mes, mese, maand,
 miesiac, ay, 月, 月份, manad, месяц, round, step
recorded: created at, created, created time, creation date, creation time, created date, create time,
 updated at, updated, updated time, update time, modified, modified at, last modified, uploaded, uploaded at,
 upload date, upload time, exported, exported at, export date, export time, imported at, inserted at,
 ingested at, loaded at, processed at, downloaded at, start date, end date, end time, start time, starts, ends,
 launch date, launched, launched at, published, published at, publish date, release date, reporting ends,
 date stop, erstellt, erstellt am, erstellungsdatum, aktualisiert, aktualisiert am, hochgeladen am, startdatum,
 enddatum, berichtsende, auswertungsende, cree le, date de creation, date de debut, date de fin, mis a jour le,
 fin des rapports, creado, fecha de creacion, fecha de inicio, fecha de fin, fin del informe, actualizado,
 criado em, data de criacao, data de inicio, data de termino, atualizado em, enviado em,
 termino dos relatorios, encerramento dos relatorios, data di creazione, data di inizio, data di fine,
 fine report, creato il, aangemaakt op, begindatum, einddatum, einde rapportage, utworzono, data utworzenia,
 data rozpoczecia, data zakonczenia, koniec raportu, olusturulma tarihi, baslangic tarihi, bitis tarihi,
 rapor bitisi, 作成日, 作成日時, 開始日, 終了日, 更新日, レポート終了日, skapad, slutdatum, 创建时间, 开始日期,
 结束日期, 报告结束日期, 생성일, 시작일, 종료일, дата создания, дата начала, дата окончания
year: year, jahr, annee, ano, anno, jaar, rok, yil, 年, ar, 年份, 연도, год
quarter: quarter, quartal, trimestre, kwartaal, kwartal, ceyrek, 四半期, 季度, квартал
month: month, monat, mois, mes, mese, maand, miesiac, ay, 月, 月份, manad, 월, месяц
week: week, woche, kalenderwoche, semaine, semana, settimana, tydzien, hafta, 週, 周, vecka, 주, неделя
day: day, tag, jour, dia, giorno, dag, dzien, gun, 日, 일, день, day of month
date: date, datum, data, fecha, tarih, 日付, 日期, 날짜, дата
hour: hour, stunde, heure, hora, ora, uur, godzina, saat, 時間帯, 時, timme, 小时, 시, час, hour of day,
 hour of the day, time of day, stunde des tages, tageszeit, heure de la journee, hora do dia, hora del dia,
 ora del giorno, uur van de dag, godzina dnia, gunun saati, timme pa dagen, 時刻, 小时段
clock: time, zeit, uhrzeit, tijd, tijdstip, czas, 时间, 時刻
ratio: rate, rates, ctr, cvr, roas, ratio, pct, percent, percentage, klickrate, durchklickrate, quote, taux,
 tasa, taxa, tasso, porcentaje, percentuale, doorklikratio, wskaznik, wspolczynnik, oran, orani, クリック率,
 コンバージョン率, 点击率, 转化率, 클릭률, 전환율, коэффициент
part: cpc, cpm, cpa, cpr, cpl, per, avg, average, mean, median, through, not, non, without, share, unit price,
 price, pro, durchschnitt, durchschnittliche, durchschnittlicher, par, moyen, moyenne, prix, por, promedio,
 precio, media, medio, preco, prezzo, gemiddelde, gemiddeld, prijs, srednia, sredni, za, cena, ortalama,
 basina, fiyat, 平均, 単価, クリック単価, genomsnittlig, 平均点击单价, 평균, 단가, средняя, цена
filler: of, number, no, num, total, sum, all, n, the, anzahl, nombre, numero, de, di, do, da, del, aantal,
 liczba, sayisi, de, total
thing: type, status, format, size, url, link, text, length, count, number, objective, delivery, version of app,
 category, weight, position
currency: currency, currency code, wahrung, devise, moneda, moeda, valuta, waluta, para birimi, 通貨
code of a currency: aed, ars, aud, bgn, brl, cad, chf, clp, cny, cop, czk, dkk, egp, eur, gbp, hkd, huf, idr,
 ils, inr, jpy, kes, krw, mxn, myr, ngn, nok, nzd, pen, php, pln, qar, ron, sar, sek, sgd, thb, try, twd, uah,
 usd, vnd, zar
zone: timezone, tz, time zone, zeitzone, fuseau horaire, zona horaria
in words: not, non, without
of others: birth, born, birthday, signup, registration, registered, joined, last, first, expiry, release, due
event: event, event type, event name, eventtype, type, action, action type, interaction, ereignis, evenement,
 evento
measure: metric, metric name, measure, measure name, kpi, variable
shown event: impression, impressions, view, viewed, shown, show, display, displayed, sent, send, delivered,
 exposure, served
earned event: click, clicks, clicked, conversion, converted, purchase, purchased, open, opened, order, ordered,
 sale, signup, install, select, selected, tapped
link: impression id, exposure id, request id, decision id, display id, serve id, view id, message id
month 1: january, jan, januar, janvier, janv, enero, ene, janeiro, gennaio, gen, januari, styczen, stycznia,
 sty, ocak, oca, janner, январь, января, янв
month 2: february, feb, februar, fevrier, fevr, febrero, fevereiro, fev, febbraio, februari, luty, lutego, lut,
 subat, sub, февраль, февраля, фев
month 3: march, mar, marz, mrz, maerz, mars, marzo, marco, maart, mrt, marzec, marca, mart, март, марта, мар
month 4: april, apr, avril, avr, abril, abr, aprile, kwiecien, kwietnia, kwi, nisan, nis, апрель, апреля, апр
month 5: may, mai, mayo, maio, maggio, mag, mei, maj, maja, mayis, май, мая
month 6: june, jun, juni, juin, junio, junho, giugno, giu, czerwiec, czerwca, cze, haziran, haz, июнь, июня,
 июн
month 7: july, jul, juli, juillet, juil, julio, julho, luglio, lug, lipiec, lipca, lip, temmuz, tem, июль,
 июля, июл
month 8: august, aug, aout, agosto, ago, augustus, sierpien, sierpnia, sie, agustos, agu, augusti, август,
 августа, авг
month 9: september, sep, sept, septembre, septiembre, setembro, set, settembre, wrzesien, wrzesnia, wrz, eylul,
 eyl, сентябрь, сентября, сен
month 10: october, oct, oktober, okt, octobre, octubre, outubro, out, ottobre, ott, pazdziernik, pazdziernika,
 paz, ekim, eki, октябрь, октября, окт
month 11: november, nov, novembre, noviembre, novembro, listopad, listopada, lis, kasim, kas, ноябрь, ноября,
 ноя
month 12: december, dec, dezember, dez, decembre, diciembre, dic, dezembro, dicembre, grudzien, grudnia, gru,
 aralik, ara, декабрь, декабря, дек
weekday: monday, tuesday, wednesday, thursday, friday, saturday, sunday, mon, tue, tues, wed, thu, thur, thurs,
 fri, sat, sun, montag, dienstag, mittwoch, donnerstag, freitag, samstag, sonntag, mo, di, mi, do, fr, sa, so,
 lundi, mardi, mercredi, jeudi, vendredi, samedi, dimanche, lunes, martes, miercoles, jueves, viernes, sabado,
 domingo, segunda, terca, quarta, quinta, sexta, feira, lunedi, martedi, mercoledi, giovedi, venerdi, sabato,
 domenica
total: total, totals, grand total, gesamt, gesamtsumme, gesamtergebnis, summe, insgesamt, totaux, totale, totali,
 totaal, razem, suma, toplam, 合計, 総計, totalt, summa, 总计, 合计, 總計, 합계, 총계, итого, всего
in a date: du, au, al, from, von, vom, dal, tot,
 t, z, am, pm, utc, gmt, w, kw, q, de, of, del, di, to, bis, st, nd, rd, th, er, week, le, den, um, at, uhr,
 г, года, 年, 月, 日, 년, 월, 일
"""
_NAMES = {
    role: [phrase.strip() for phrase in phrases.split(",")]
    for role, _, phrases in (line.partition(":") for line in re.split(r"\n(?! )", _TABLE.strip()))
}
TOTALS = _NAMES["total"]
# Letters that are not an accent away from plain ones.
_LETTERS = str.maketrans({"ł": "l", "ø": "o", "ı": "i", "đ": "d", "æ": "ae", "œ": "oe", "_": " "})
# Words between the parts of a date.
IN_DATES = dict.fromkeys("年月년월", "-") | dict.fromkeys(("日", "일", "de", "del", "г", "г.", "года"), " ")
REWARDS = ("reward", "counted", "amount", "score")


@functools.lru_cache(4096)
def plain_words(text: str) -> tuple[str, ...]:
    """Return the words of a name, without accents and in small letters.

    >>> plain_words("Amount spent (EUR)"), plain_words("adName"), plain_words("Impressões")
    (('amount', 'spent', 'eur'), ('ad', 'name'), ('impressoes',))
    """
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    letters = unicodedata.normalize("NFKD", apart).casefold().translate(_LETTERS)
    return tuple(re.findall(r"\w+", "".join(each for each in letters if not unicodedata.combining(each))))


@functools.cache
def _roles() -> dict[tuple[str, ...], dict[str, int]]:
    """Return, for each name as words, the roles that it may have, and its place among the names of each."""
    found: dict[tuple[str, ...], dict[str, int]] = {}
    for role, phrases in _NAMES.items():
        for place, phrase in enumerate(phrases):
            found.setdefault(plain_words(phrase), {}).setdefault(role, place)
    return found


def _places(names: Iterable[tuple[str, ...]]) -> dict[str, int]:
    """Return the best place of some names in each role."""
    found: dict[str, int] = {}
    for name in names:
        for role, place in _roles().get(name, {}).items():
            found[role] = min(place, found.get(role, place))
    return found


@functools.lru_cache(4096)
def _whole(column: str) -> dict[str, int]:
    """Return the roles of a column by its whole name: its last part, without brackets, words such as "of", plurals."""
    ways = set()
    for text in (column, column.rpartition(".")[2], re.sub(r"[(\[（【].*?[)\]）】]", " ", column)):
        words = plain_words(text)
        bare = tuple(word for word in words if "filler" not in _roles().get((word,), ()))
        ways |= {words, bare, (*bare[:-1], bare[-1].removesuffix("s")) if bare else bare}
    return _places(ways)


def _parts(column: str) -> set[tuple[str, ...]]:
    words = plain_words(column)
    return {words[start:end] for start in range(len(words)) for end in range(start + 1, len(words) + 1)}


def is_called(column: str, *roles: str) -> bool:
    """Say whether a column has one of the names of these roles, as a whole.

    >>> is_called("Impr.", "impressions"), is_called("Amount spent (EUR)", "spend"), is_called("view_id", "perhaps")
    (True, True, False)
    """
    return not _whole(column).keys().isdisjoint(roles)


def mentions(column: str, *roles: str) -> bool:
    """Say whether a name of these roles stands among a column's words.

    >>> mentions("Cost per click", "part"), mentions("Klicks (alle)", "counted"), mentions("clickbait", "counted")
    (True, True, False)
    """
    return not _places(_parts(column)).keys().isdisjoint(roles)


def called(columns: Iterable[str], *roles: str, whole: bool = False) -> list[str]:
    """Return the columns called as these roles are: whole names first, then the roles in their order.

    Columns with such a name among other words follow, unless `whole`, or they have a whole name of their own.

    >>> called(["Day", "Link clicks", "Unique outbound clicks", "Clics"], "counted")
    ['Link clicks', 'Clics', 'Unique outbound clicks']
    """
    found = []
    for column in columns:
        own = _whole(column)
        places = own or ({} if whole else _places(_parts(column)))
        ranks = [(not own, number, places[role]) for number, role in enumerate(roles) if role in places]
        if ranks:
            found.append((ranks[0], column))
    return [column for _, column in sorted(found, key=lambda each: each[0])]


def shared_names(one: str, other: str, role: str) -> bool:
    """Say whether two columns mention the same name of a role.

    >>> shared_names("Unique clicks", "Clicks (all)", "counted"), shared_names("clicks", "conversions", "counted")
    (True, False)
    """
    return role in _places(_parts(one) & _parts(other))


def month_of(word: str) -> int | None:
    """Return the number of a month that is written as a word.

    >>> month_of("März"), month_of("avr."), month_of("Maybe")
    (3, 4, None)
    """
    return next((int(role[6:]) for role in _whole(word) if role.startswith("month ")), None)


def looks_like_time(text: str) -> bool:
    """Say whether a text may be a time: a number, or digits beside words that stand in dates.

    >>> looks_like_time("5 de enero de 2024"), looks_like_time("2024-01-31T18:00Z"), looks_like_time("ad 3")
    (True, True, False)
    """
    words = re.findall(r"[^\W\d_]+", text)
    known = ("in a date", "weekday", "year", "month", "day")
    return bool(re.search(r"\d", text)) and all(month_of(word) or is_called(word, *known) for word in words)

"""Members of submissions.zip, and the lists of tickers. SYNTHETIC: registrants and filings are invented; persons have invented names.

What filings have beside their day and number is taken from pools of cells that are made once."""
import datetime
import functools
import random

from companies import Company, company_name
from packing import pack
from settings import FIRST_CIK, FUND_CLASSES, GOLDEN, ISO, has_page, working
from words import CITIES, FIRST_NAMES, LAST_NAMES, STATES, STREET_TYPES, STREETS

RECENT = 1000
POOL = 4096
AGENTS = [f"{8_000_001 + 137 * agent:010d}" for agent in range(40)]
KEYS = ("accessionNumber", "filingDate", "reportDate", "acceptanceDateTime", "act", "form", "fileNumber", "filmNumber", "items", "core_type", "size",
        "isXBRL", "isInlineXBRL", "primaryDocument", "primaryDocDescription")
# Forms of a kind of registrant: weight, form, act, items, days between the period of report and the filing (none where there is no period),
# whether with XBRL, document, its description.
FORMS = {
    "person": ((75, "4", "34", "", 2, 0, "xslF345X05/form4.xml", "FORM 4"), (9, "3", "34", "", 8, 0, "xslF345X02/form3.xml", "FORM 3"),
               (3, "4/A", "34", "", 9, 0, "xslF345X05/form4a.xml", "FORM 4/A"), (6, "144", "33", "", None, 0, "xsl144X01/primary_doc.xml", ""),
               (4, "SC 13G/A", "", "", None, 0, "sc13ga.htm", "SC 13G/A"), (3, "5", "34", "", 40, 0, "xslF345X05/form5.xml", "FORM 5")),
    "company": ((26, "8-K", "34", "2.02,9.01", 0, 1, "form8-k.htm", "8-K"), (9, "8-K", "34", "5.02", 3, 1, "form8-k.htm", "CURRENT REPORT"),
                (34, "4", "34", "", 2, 0, "xslF345X05/form4.xml", "FORM 4"), (5, "3", "34", "", 8, 0, "xslF345X02/form3.xml", "FORM 3"),
                (4, "DEF 14A", "34", "", None, 1, "proxy.htm", "DEFINITIVE PROXY STATEMENT"), (4, "S-8", "33", "", None, 0, "forms-8.htm", "S-8"),
                (5, "424B2", "33", "", None, 1, "prospectus.htm", "424B2"), (5, "SC 13G/A", "34", "", None, 0, "sc13ga.htm", "SC 13G/A"),
                (3, "CORRESP", "", "", None, 0, "filename1.htm", ""), (3, "UPLOAD", "", "", None, 0, "filename1.pdf", ""),
                (2, "S-3", "33", "", None, 0, "forms-3.htm", "S-3")),
    "organisation": ((38, "D", "33", "06b", None, 0, "xslFormDX01/primary_doc.xml", ""), (22, "D/A", "33", "06b", None, 0, "xslFormDX01/primary_doc.xml", ""),
                     (15, "13F-HR", "34", "", 40, 0, "xslForm13F_X02/primary_doc.xml", ""), (13, "SC 13G", "34", "", None, 0, "sc13g.htm", "SC 13G"),
                     (7, "C", "33", "", None, 0, "xslC_X01/primary_doc.xml", ""), (5, "REGDEX", "33", "", None, 0, "", "")),
    "fund": ((40, "497K", "33", "", None, 1, "fund497k.htm", "497K"), (25, "NPORT-P", "40", "", 58, 0, "xslFormNPORT-P_X01/primary_doc.xml", ""),
             (12, "N-CSR", "40", "", 65, 1, "ncsr.htm", "N-CSR"), (10, "485BPOS", "33,40", "", None, 1, "fund485b.htm", "485BPOS"),
             (8, "N-PX", "40", "", 60, 0, "xslN-PX_X02/primary_doc.xml", ""), (5, "N-CEN", "40", "", 75, 0, "xslN-CEN_X01/primary_doc.xml", "")),
}
# Filings of a registrant, on average.
FILINGS = {"person": 11, "company": 180, "organisation": 19, "fund": 95}


def quoted(text):
    return f'"{text}"'


@functools.cache
def pool(seed, kind):
    """Cells of filings of a kind of registrant, as JSON, column by column: what does not depend on the registrant."""
    draw = random.Random(f"{seed}/pool/{kind}")
    forms = draw.choices(FORMS[kind], [form[0] for form in FORMS[kind]], k=POOL) * 2
    return {"time": [f'T{draw.randint(6, 21):02d}:{draw.randint(0, 59):02d}:{draw.randint(0, 59):02d}.000Z"' for _ in forms],
            "lag": [form[4] for form in forms], "act": [quoted(form[2]) for form in forms], "form": [quoted(form[1]) for form in forms],
            "film": [quoted(draw.randint(10_000_000, 269_999_999)) if form[2] else '""' for form in forms], "items": [quoted(form[3]) for form in forms],
            "core": [quoted("XBRL" if form[5] else form[1]) for form in forms], "size": [str(int(10 ** draw.uniform(3.6, 6.2))) for form in forms],
            "xbrl": [str(form[5]) for form in forms], "document": [quoted(document_name(draw, form[6])) for form in forms],
            "description": [quoted(form[7]) for form in forms]}


def document_name(draw, name):
    """Names of documents as filers' programs make them."""
    if name.startswith("xslF345X"):
        return name.replace("/form", f"/wk-form{draw.randint(1, 9)}_{draw.randint(10 ** 9, 2 * 10 ** 9)}_")
    return name.replace(".htm", f"_{draw.randint(1000, 99999)}.htm")


DAYS = {day: working(day) for day in ISO}
QUOTED = {day: f'"{text}"' for day, text in ISO.items()}
OPENED = {day: f'"{text}' for day, text in ISO.items()}
YEARS = {day: f"-{text[2:4]}-" for day, text in ISO.items()}


def columns(seed, kind, draw, count, first, last, file_number):
    """Filings of some days between two, the newest first: one list of cells for each key."""
    cells, place = pool(seed, kind), draw.randrange(POOL)
    # A stretch of the pool, and numbers of agents at a stride: drawing each cell by itself takes three times as long.
    stretch = slice(place, place + count)
    days = [DAYS[day] for day in sorted(draw.choices(range(first, max(first + 1, last - 3)), k=count), reverse=True)]
    agents, number, stride = draw.sample(AGENTS, 3), draw.randrange(890_000), draw.randrange(2_003, 900_000, 2)
    numbers = [(number + stride * place) % 889_997 + 1 for place in range(count)]
    return [[f'"{agents[number % 3]}{YEARS[day]}{number:06d}"' for day, number in zip(days, numbers)], [QUOTED[day] for day in days],
            ['""' if lag is None else QUOTED[day - lag] for day, lag in zip(days, cells["lag"][stretch])],
            [OPENED[day] + time for day, time in zip(days, cells["time"][stretch])], cells["act"][stretch], cells["form"][stretch], [file_number] * count,
            *(cells[name][stretch] for name in ("film", "items", "core", "size", "xbrl", "xbrl", "document", "description"))]


def arrays(rows):
    return "{" + ",".join(f'"{key}":[{",".join(cells)}]' for key, cells in zip(KEYS, rows)) + "}"


def cells_of_report(report, file_number):
    form, day, end = quoted(report.form), ISO[report.filed], ISO[report.end]
    return [quoted(report.accession), quoted(day), quoted(end), f'"{day}T16:{report.quarter % 60:02d}:{report.filed % 60:02d}.000Z"', '"34"', form, file_number,
            quoted(26_000_000 + report.filed), '""', '"XBRL"', str(1_000_000 + report.filed), "1", "1", f'"rehearsal-{end.replace("-", "")}.htm"', form]


def merged(rows, more):
    """Filings with some more of them, by day."""
    together = list(zip(*rows)) + more
    together.sort(key=lambda cells: (cells[1], cells[0]), reverse=True)
    return [list(column) for column in zip(*together)]


# ---------------------------------------------------------------- registrants

def kind_of(registrant):
    place = (registrant * GOLDEN + 0.17) % 1
    return "person" if place < 0.8 else "organisation" if place < 0.97 else "fund"


def address(draw, state):
    code, _, _, low, high, _ = state
    street = f"{draw.randint(1, 9999)} {draw.choice(STREETS)} {draw.choice(STREET_TYPES)}"
    place = f'"city":"{draw.choice(CITIES).upper()}","stateOrCountry":"{code}","zipCode":"{draw.randint(low, high):03d}{draw.randint(0, 99):02d}"'
    return (f'{{"street1":"{street}","street2":null,{place},"stateOrCountryDescription":"{code}","isForeignLocation":0,"foreignStateTerritory":null,'
            '"country":null,"countryCode":null}')


NO_ADDRESS = ('{"street1":null,"street2":null,"city":null,"stateOrCountry":null,"zipCode":null,"stateOrCountryDescription":null,"isForeignLocation":null,'
              '"foreignStateTerritory":null,"country":null,"countryCode":null}')


def head(cik, entity_type, industry, flags, name, tickers, exchanges, category, year_end, state, mailing, business, former="[]"):
    code, description, office = industry
    return (f'{{"cik":"{cik:010d}","entityType":"{entity_type}","sic":"{code}","sicDescription":"{description}","ownerOrg":"{office}",'
            f'"insiderTransactionForOwnerExists":{flags[0]},"insiderTransactionForIssuerExists":{flags[1]},"name":"{name}",'
            f'"tickers":{tickers},"exchanges":{exchanges},"ein":null,"lei":null,"description":"",'
            f'"website":"","investorWebsite":"","category":"{category}","fiscalYearEnd":{year_end},'
            f'"stateOfIncorporation":"{state}","stateOfIncorporationDescription":"{state}","addresses":{{"mailing":{mailing},"business":{business}}},'
            f'"phone":null,"flags":"","formerNames":{former},"filings":')


def members_of(settings, registrant):
    """A registrant's own member, and its page of older filings where there is one."""
    cik = FIRST_CIK + registrant
    company = settings.company_of(registrant)
    changes = settings.changes("submissions", registrant, settings.registrants)
    if company is not None:
        return members_of_company(settings, Company(settings, company), changes)
    kind, draw = kind_of(registrant), settings.random("registrant", registrant)
    count = min(RECENT - 100, 1 + int(draw.expovariate(1 / FILINGS[kind])))
    last = settings.first if draw.random() < 0.4 else settings.first - draw.randint(100, 7_000)
    rows = columns(settings.seed, kind, draw, count, last - draw.randint(30, 4_000), last, f'"001-{cik % 90_000 + 10_000}"')
    state = draw.choice(STATES)
    if kind == "person":
        name = f"{draw.choice(LAST_NAMES)} {draw.choice(FIRST_NAMES)} {chr(65 + registrant % 26)}"
        text = head(cik, "other", ("", "", ""), (1, 0), name, "[]", "[]", "", "null", "", address(draw, state), NO_ADDRESS)
    else:
        name = company_name(draw)
        if kind == "fund":
            name, industry, entity_type = f"{name} FUNDS", ("", "", ""), "investment"
        else:
            industry, entity_type = ("", "", ""), "other" if registrant % 3 else "operating"
        place = address(draw, state)
        text = head(cik, entity_type, industry, (0, 0), name, "[]", "[]", "", quoted("1231"), state[0], place, place)
    if changes:
        rows = merged(rows, [cells_of_change(settings, kind, cik, night) for night in changes])
    return [(f"CIK{cik:010d}.json", f'{text}{{"recent":{arrays(rows)},"files":[]}}}}'.encode())]


def cells_of_change(settings, kind, cik, night):
    """A night's change: one more filing."""
    _, form, act, items, lag, xbrl, document, description = FORMS[kind][0]
    day = settings.day(night)
    period = "" if lag is None else ISO[day - lag]
    year = datetime.date.fromordinal(day).year % 100
    return [quoted(f"{cik:010d}-{year:02d}-{800_000 + night:06d}"), QUOTED[day], quoted(period), f'"{ISO[day]}T17:30:00.000Z"', quoted(act),
            quoted(form), '""', '""', quoted(items), quoted(form), "5432", str(xbrl), str(xbrl), quoted(document), quoted(description)]


def members_of_company(settings, company, changes):
    draw = settings.random("filings", company.number)
    cik, file_number = company.cik, f'"001-{company.cik % 90_000 + 10_000}"'
    average = FILINGS["company"] * (1.9 if company.size < 0.3 else 0.6)
    count = max(3, int(average * draw.uniform(0.3, 1.7)))
    count = RECENT + draw.randint(50, 800) if has_page(company.number) else min(count, RECENT - 200)
    last = company.reports[-1].filed if company.reports and not company.is_current else settings.first
    first = (company.reports[0].filed if company.reports else last - 1_500) - draw.randint(0, 5_000 if has_page(company.number) else 300)
    rows = columns(settings.seed, "company", draw, count, first, last, file_number)
    rows = merged(rows, [cells_of_report(report, file_number) for report in company.reports if report.amends is None])
    place = address(draw, company.state)
    ending = datetime.date.fromordinal(company.end_of(2_025 * 4 + 3)).strftime("%m%d")
    category = ("Large accelerated filer" if company.size < 0.1 else "Accelerated filer" if company.size < 0.3 else
                "Non-accelerated filer<br>Smaller reporting company")
    tickers, exchanges = (f'["{company.ticker()}"]', f'["{company.exchange()}"]') if company.is_listed else ("[]", "[]")
    text = head(cik, "operating", company.industry, (0, 1), company.name, tickers, exchanges, category, quoted(ending), company.state[0], place, place)
    recent, older = [cells[:RECENT] for cells in rows], [cells[RECENT:] for cells in rows]
    files, page = "", []
    if older[0]:
        name = f"CIK{cik:010d}-submissions-001.json"
        files = f'{{"name":"{name}","filingCount":{len(older[0])},"filingFrom":{older[1][-1]},"filingTo":{older[1][0]}}}'
        page = [(name, arrays(older).encode())]
    more = [cells_of_report(report, file_number) for report in company.reports if report.amends is not None]
    more += [cells_of_change(settings, "company", cik, night) for night in changes]
    if more:
        recent = merged(recent, more)
    return [(f"CIK{cik:010d}.json", f'{text}{{"recent":{arrays(recent)},"files":[{files}]}}}}'.encode()), *page]


def chunk(settings, stamp, registrants):
    return pack([member for registrant in registrants for member in members_of(settings, registrant)], stamp)


# ---------------------------------------------------------------- tickers

def tickers(settings):
    """The three lists -> [(name of the file, content)]."""
    listed = [company for company in (Company(settings, number) for number in range(settings.companies)) if company.is_listed]
    listed.sort(key=lambda company: company.size)
    rows = ",".join(f'[{company.cik},"{company.name}","{company.ticker()}","{company.exchange()}"]' for company in listed)
    objects = ",".join(f'"{place}":{{"cik_str":{company.cik},"ticker":"{company.ticker()}","title":"{company.name}"}}' for place, company in enumerate(listed))
    classes, wanted = [], settings.number(FUND_CLASSES, 3)
    registrant = 0
    while len(classes) < wanted and registrant < settings.registrants:
        if settings.company_of(registrant) is None and kind_of(registrant) == "fund":
            for _ in range(registrant % 3 + 1):
                number = len(classes)
                letters = "".join(chr(65 + number // 26 ** place % 26) for place in (3, 2, 1, 0))
                classes.append(f'[{FIRST_CIK + registrant},"S{900_000_000 + number // 3:09d}","C{900_000_000 + number:09d}","{letters}X"]')
        registrant += 1
    return [("company_tickers_exchange.json", f'{{"fields":["cik","name","ticker","exchange"],"data":[{rows}]}}'), ("company_tickers.json", f"{{{objects}}}"),
            ("company_tickers_mf.json", f'{{"fields":["cik","seriesId","classId","symbol"],"data":[{",".join(classes[:wanted])}]}}')]

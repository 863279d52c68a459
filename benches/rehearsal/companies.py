"""Companies and their periodic reports, from which both archives of the SEC are made. SYNTHETIC: no company and no figure is real."""
import calendar
import datetime
import functools

from settings import PLASTIC, size_of, working
from words import PLACE_WORDS, STATES, TRADES

DESIGNATORS = ("INC.", "CORP", "Inc.", "Corp.", "HOLDINGS, INC.", "LLC", "LTD", "TRUST", "L.P.", "CO", "GROUP INC", "BANCORP")
INDUSTRIES = (("3571", "Electronic Computers", "06 Technology"), ("2834", "Pharmaceutical Preparations", "03 Life Sciences"),
              ("6022", "State Commercial Banks", "02 Finance"), ("7372", "Services-Prepackaged Software", "06 Technology"),
              ("1311", "Crude Petroleum & Natural Gas", "01 Energy & Transportation"),
              ("6798", "Real Estate Investment Trusts", "05 Real Estate & Construction"),
              ("5812", "Retail-Eating Places", "07 Trade & Services"), ("3674", "Semiconductors & Related Devices", "04 Manufacturing"),
              ("4911", "Electric Services", "01 Energy & Transportation"), ("6770", "Blank Checks", "05 Real Estate & Construction"))
FIRST_YEAR, QUARTERS = 2009, {1: "Q1", 2: "Q2", 3: "Q3", 4: "FY"}
KB, MB = 1 << 10, 1 << 20
# Upper end of a class of sizes, and from how many bytes to how many a member has: few very large filers, many small ones.
SIZES = ((0.005, 6 * MB, 10 * MB), (0.055, 3 * MB, 6 * MB), (0.255, 1.2 * MB, 3 * MB), (0.555, 0.3 * MB, 1.2 * MB), (0.805, 50 * KB, 300 * KB),
         (1.0, 1 * KB, 50 * KB))


@functools.lru_cache(maxsize=4096)
def month_end(month):
    """The last day of a month, counted from January of year 0, as an ordinal."""
    year, month = divmod(month, 12)
    return datetime.date(year, month + 1, calendar.monthrange(year, month + 1)[1]).toordinal()


class Report:
    """A periodic report. `quarter` counts the fiscal quarters of a company: four times the year, and 0 to 3."""

    def __init__(self, form, quarter, end, filed, accession, amends=None):
        self.form, self.quarter, self.end, self.filed, self.accession, self.amends = form, quarter, end, filed, accession, amends
        self.year, self.part = quarter // 4, quarter % 4 + 1


class Company:
    def __init__(self, settings, number):
        random = settings.random("company", number)
        self.number, self.cik = number, settings.cik_of_company(number)
        self.size = size_of(number)
        low, high = next((low, high) for end, low, high in SIZES if self.size < end)
        self.target = low + (high - low) * random.random()
        kind = (number * PLASTIC + 0.3) % 1
        self.kind = "minor" if self.size >= 0.555 and kind < 0.3 else "foreign" if kind >= 0.94 else "us"
        self.name = company_name(random)
        self.industry = random.choice(INDUSTRIES)
        self.state = random.choice(STATES)
        self.is_current = random.random() < (0.85 if self.size < 0.255 else 0.55)
        self.is_listed = self.is_current and self.kind != "minor" and self.size < 0.7
        self.year_end = random.choices((12, 6, 9, 3, 1, 2, 4, 5, 7, 8, 10, 11), (70, 8, 8, 4, 2, 1, 1, 1, 1, 1, 2, 1))[0]
        self.reports = [] if self.kind == "minor" else self._reports(random, settings)
        # Nothing is drawn from `random` behind this line: what changes in a night must not change anything else.
        self.changes = settings.changes("facts", number, settings.companies)
        for night in self.changes:
            self._amend(settings, night)

    def end_of(self, quarter):
        year, part = divmod(quarter, 4)
        return month_end(year * 12 + self.year_end - 1 - 3 * (3 - part))

    def _reports(self, random, settings):
        years = (random.randint(10, 18) if self.target > 1.2 * MB else random.randint(5, 17) if self.target > 300 * KB else
                 random.randint(2, 6) if self.target > 50 * KB else 1)
        this_year = datetime.date.fromordinal(settings.first).year
        last = this_year if self.is_current else random.randint(max(FIRST_YEAR + 1, this_year - 14), this_year - 1)
        first = max(FIRST_YEAR, last - years + 1 - (last == this_year))
        reports, counts = [], {}
        for quarter in range(first * 4, last * 4 + 4):
            is_year = quarter % 4 == 3
            end = self.end_of(quarter)
            filed = working(end + (random.randint(52, 86) if is_year else random.randint(33, 44)))
            step = random.randint(1, 9)
            if filed >= settings.first or self.kind == "foreign" and not is_year:
                continue
            year = datetime.date.fromordinal(filed).year % 100
            counts[year] = counts.get(year, 0) + step
            form = "20-F" if self.kind == "foreign" else "10-K" if is_year else "10-Q"
            reports.append(Report(form, quarter, end, filed, f"{self.cik:010d}-{year:02d}-{counts[year]:06d}"))
        return reports

    def _amend(self, settings, night):
        """A night's change: the last report is amended, with figures restated."""
        filed = settings.day(night)
        accession = f"{self.cik:010d}-{datetime.date.fromordinal(filed).year % 100:02d}-{900_000 + night:06d}"
        if self.reports:
            last = next(report for report in reversed(self.reports) if report.amends is None)
            self.reports.append(Report(last.form + "/A", last.quarter, last.end, filed, accession, last))

    def ticker(self):
        """A symbol of four or five letters; every number has another."""
        letters, number = "", self.number + 26 ** 3
        while number:
            number, letter = divmod(number, 26)
            letters = chr(65 + letter) + letters
        return letters

    def exchange(self):
        return ("Nasdaq", "NYSE", "OTC", "Nasdaq", "NYSE")[self.number % 5]


def company_name(random):
    return f"{random.choice(PLACE_WORDS)} {random.choice(TRADES)} {random.choice(DESIGNATORS)}"

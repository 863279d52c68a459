"""What a mirror is made of: seed, scale, night, and which registrants and rows change in a night."""
import datetime
import functools
import random

# Numbers of the real night, by which `--scale` multiplies.
COMPANIES = 18_000
SUBMISSIONS = 900_000
ENTITIES = 10_000_000
PROVIDERS = 8_000_000
FUND_CLASSES = 29_000

GOLDEN, PLASTIC = 0.6180339887498949, 0.7548776662466927
FIRST_CIK = 5_000_001  # far above the SEC's numbers of 2026 (2.1 million) and below those of fixtures

_FIRST_DAY = datetime.date(1992, 1, 1).toordinal()
_LAST_DAY = datetime.date(2060, 1, 1).toordinal()
ISO = {day: datetime.date.fromordinal(day).isoformat() for day in range(_FIRST_DAY, _LAST_DAY)}


def working(day):
    """The day itself, or the Monday after it; days are ordinals."""
    weekday = (day - 1) % 7  # ordinal 1 was a Monday
    return day + 7 - weekday if weekday > 4 else day


# Public holidays of the federal government (5 U.S.C. 6103): month and day; month, weekday and how many-th of the month, -1 is the last.
FIXED = ((1, 1), (6, 19), (7, 4), (11, 11), (12, 25))
FLOATING = ((1, 0, 3), (2, 0, 3), (5, 0, -1), (9, 0, 1), (10, 0, 2), (11, 3, 4))


def is_holiday(day):
    """Whether a working day is one on which a holiday is observed: that of a Saturday on the Friday before it, that of a Sunday on the Monday after it."""
    date = datetime.date.fromordinal(day)
    observed = [day] + ([day + 1] if date.weekday() == 4 else [day - 1] if date.weekday() == 0 else [])
    if any((other.month, other.day) in FIXED for other in map(datetime.date.fromordinal, observed)):
        return True
    nth, is_last = (date.day + 6) // 7, datetime.date.fromordinal(day + 7).month != date.month
    return any(date.month == month and date.weekday() == weekday and (nth == which or is_last and which == -1) for month, weekday, which in FLOATING)


def business_day(day):
    """The day itself, or the next one on which publishers work."""
    day = working(day)
    while is_holiday(day):
        day = working(day + 1)
    return day


class Settings:
    def __init__(self, seed, scale, date, night, percent):
        self.seed, self.scale, self.night, self.percent = seed, scale, night, percent
        self.first = business_day(date.toordinal())

    def number(self, published, least=1):
        return max(least, round(published * self.scale))

    def random(self, *parts):
        return random.Random("/".join(map(str, (self.seed, *parts))))

    def day(self, night=None):
        """The day of a night, as an ordinal."""
        day = self.first
        for _ in range(self.night if night is None else night):
            day = business_day(day + 1)
        return day

    def moment(self, night=None):
        """When the files of a night were made."""
        return datetime.datetime.combine(datetime.date.fromordinal(self.day(night)), datetime.time(7), datetime.timezone.utc)

    def nights(self):
        return range(1, self.night + 1)

    @functools.lru_cache(maxsize=64)
    def changed(self, kind, night, population):
        """What of a population changes in a night."""
        return frozenset(self.random("changed", kind, night).sample(range(population), round(population * self.percent / 100)))

    def changed_of_chunk(self, kind, night, numbers):
        """What changes in a night of a range of rows: the same part of each range."""
        count = round(numbers.stop * self.percent / 100) - round(numbers.start * self.percent / 100)
        return sorted(self.random("changed", kind, night, numbers.start).sample(numbers, min(count, len(numbers))))

    def changes(self, kind, member, population):
        """The nights in which a member changed, up to this one."""
        return [night for night in self.nights() if member in self.changed(kind, night, population)]

    # ---------------------------------------------------------------- registrants

    @property
    def companies(self):
        return self.number(COMPANIES, 20)

    @functools.cached_property
    def paged(self):
        """Companies with a page of older filings: a quarter, the largest."""
        return sum(has_page(company) for company in range(self.companies))

    @functools.cached_property
    def registrants(self):
        """Registrants of the submissions; pages are members too."""
        return max(self.number(SUBMISSIONS) - self.paged, 3 * self.companies)

    @functools.cached_property
    def step(self):
        """Every so many registrants is a company: the last digits of their numbers are spread evenly."""
        step = self.registrants // self.companies
        while step % 2 == 0 or step % 5 == 0:
            step -= 1
        return step

    def company_of(self, registrant):
        """The company that a registrant is; none for the others."""
        company, rest = divmod(registrant, self.step)
        return company if rest == 0 and company < self.companies else None

    def cik_of_company(self, company):
        return FIRST_CIK + company * self.step


def size_of(company):
    """0 is the largest company, 1 the smallest; any scale has the same mixture."""
    return (company * GOLDEN + 0.0031) % 1


def has_page(company):
    return size_of(company) < 0.25

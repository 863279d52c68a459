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


class Settings:
    def __init__(self, seed, scale, date, night, percent):
        self.seed, self.scale, self.night, self.percent = seed, scale, night, percent
        self.first = working(date.toordinal())

    def number(self, published, least=1):
        return max(least, round(published * self.scale))

    def random(self, *parts):
        return random.Random("/".join(map(str, (self.seed, *parts))))

    def day(self, night=None):
        """The day of a night, as an ordinal: each is a working day."""
        day = self.first
        for _ in range(self.night if night is None else night):
            day = working(day + 1)
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

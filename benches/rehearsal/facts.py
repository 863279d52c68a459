"""Members of companyfacts.zip. SYNTHETIC: concepts' names are of us-gaap, or made in its manner; figures, labels and descriptions are invented.

A company has a few templates: all facts of a concept that is in every report, in annual reports only, in the newer ones only, with a hole for
each value. A concept is one of them, filled with the company's weights of the periods times a number of its own: quarters add up to years, and
assets are liabilities and equity."""
import datetime
import re

from companies import Company
from packing import pack
from settings import ISO

# Concepts with the kind of their facts: D durations of a quarter, to date and of a year; C to date and of a year; I balances.
STATEMENTS = {"D": """CostOfRevenue GrossProfit ResearchAndDevelopmentExpense SellingGeneralAndAdministrativeExpense SellingAndMarketingExpense
GeneralAndAdministrativeExpense OperatingIncomeLoss InterestExpense IncomeTaxExpenseBenefit
IncomeLossFromContinuingOperationsBeforeIncomeTaxesExtraordinaryItemsNoncontrollingInterest""",
              "C": """NetCashProvidedByUsedInInvestingActivities NetCashProvidedByUsedInFinancingActivities PaymentsToAcquirePropertyPlantAndEquipment
PaymentsOfDividends PaymentsForRepurchaseOfCommonStock DepreciationDepletionAndAmortization
CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalentsPeriodIncreaseDecreaseIncludingExchangeRateEffect""",
              "I": """ShortTermInvestments AccountsReceivableNetCurrent InventoryNet AssetsCurrent PropertyPlantAndEquipmentNet Goodwill
IntangibleAssetsNetExcludingGoodwill AccountsPayableCurrent LiabilitiesCurrent LongTermDebtCurrent LongTermDebtNoncurrent
RetainedEarningsAccumulatedDeficit"""}
REVENUES = "Revenues RevenueFromContractWithCustomerExcludingAssessedTax SalesRevenueNet RevenueFromContractWithCustomerIncludingAssessedTax".split()
# Concepts that no measure is taken from: the greater part of an archive.
PARTS = {"C": """IncreaseDecreaseIn ProceedsFrom PaymentsFor RepaymentsOf ProceedsFromSaleOf PaymentsToAcquire AmortizationOf ImpairmentOf GainLossOnSaleOf""",
         "I": """Deferred Accrued AllowanceFor Prepaid Restricted Unrecognized FairValueOf CarryingAmountOf MaturitiesOf Undistributed Contractual""",
         "D": """IncomeFrom ExpenseFor ChangeIn ProvisionFor RecognizedIn TotalCostOf RealizedGainLossOn UnrealizedGainLossOn"""}
NOUNS = """AccountsReceivable AccountsPayable Inventories OperatingLeases FinanceLeases PrepaidExpenses EmployeeBenefits ShareBasedCompensation
IncomeTaxes ValuationAllowance NotesPayable ConvertibleDebt LinesOfCredit SeniorNotes CommercialPaper AvailableForSaleSecurities DerivativeInstruments
ForeignCurrencyTransactions BusinessCombinations IntangibleAssets CapitalizedSoftware ContractWithCustomers CustomerDeposits ProductWarranty
RestructuringReserve AssetRetirementObligations PensionPlans Insurance RegulatoryAssets RealEstate LoansAndLeases DepositsWithBanks FederalFunds
MortgageServicingRights ReinsuranceRecoverables PolicyBenefits RoyaltyAgreements LicenseAgreements CollaborationArrangements Litigation
Environment TreasuryStock PreferredStock CommonStock Warrants PartnershipUnits EquityMethodInvestments NoncontrollingInterests DiscontinuedOperations
AccumulatedOtherComprehensiveIncome HedgingInstruments VariableInterestEntities RelatedParties MajorCustomers""".split()
ENDINGS = {"C": ("", "NetOfCashAcquired"), "I": ("Current", "Noncurrent", "Net"), "D": ("", "NetOfTax", "BeforeTax")}
BYTES_OF_A_FACT, BYTES_OF_A_CONCEPT = 150, 430


def header(name, unit, taxonomy="us-gaap"):
    """A concept up to its facts."""
    label = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    text = (f"Synthetic text in place of the definition of {label} in the taxonomy {taxonomy}. Amount, before and after adjustments, of what a reporting "
            f"entity states as {label.lower()} for the period or as of the balance sheet date.")
    return f'"{name}":{{"label":"{label}","description":"{text}","units":{{"{unit}":['


CORE = {name: header(name, unit, taxonomy) for name, unit, taxonomy in (
    *((name, "USD", "us-gaap") for name in (*REVENUES, "Assets", "Liabilities", "LiabilitiesAndStockholdersEquity", "StockholdersEquity", "NetIncomeLoss",
                                             "NetCashProvidedByUsedInOperatingActivities", "CashAndCashEquivalentsAtCarryingValue")),
    ("EarningsPerShareBasic", "USD/shares", "us-gaap"), ("EarningsPerShareDiluted", "USD/shares", "us-gaap"),
    ("WeightedAverageNumberOfSharesOutstandingBasic", "shares", "us-gaap"), ("WeightedAverageNumberOfDilutedSharesOutstanding", "shares", "us-gaap"),
    ("CommonStockSharesOutstanding", "shares", "us-gaap"), ("EntityCommonStockSharesOutstanding", "shares", "dei"), ("EntityPublicFloat", "USD", "dei"))}
DECLARED = [(name, kind, header(name, "USD")) for kind, names in STATEMENTS.items() for name in names.split()]
FILLERS = [(name, kind, header(name, "USD")) for kind, prefixes in PARTS.items() for prefix in prefixes.split() for noun in NOUNS for ending in ENDINGS[kind]
           for name in [prefix + noun + ending]]
FOREIGN = [(name, kind, header(name, "USD", "ifrs-full")) for name, kind in (("Assets", "I"), ("Equity", "I"), ("ProfitLoss", "D"), ("Revenue", "D"),
           ("CashFlowsFromUsedInOperatingActivities", "C"))] + [(name, kind, text.replace("us-gaap", "ifrs-full")) for name, kind, text in FILLERS[::3]]


class Template:
    """The facts of a concept with holes for their values; `weights` are what the concept's own number is multiplied by."""

    def __init__(self, mentions, shapes, restated):
        mentions.sort(key=lambda mention: (mention[2], mention[1] or 0, mention[0].filed, mention[0].accession))
        last = {}
        for report, start, end, _, _ in mentions:
            last[start, end] = max(last.get((start, end), (0, "")), (report.filed, report.accession))
        texts, self.weights, self.quarters = [], [[], [], []], []
        self.count = 0
        for report, start, end, quarter, length in mentions:
            frame = ""
            if last[start, end] == (report.filed, report.accession) and length != 2:
                frame = f',"frame":"{frame_of(start, end, length)}"'
            begin = f'"start":"{ISO[start]}",' if start else ""
            texts.append(f'{{{begin}"end":"{ISO[end]}","val":%s,{stamp(report)}{frame}}}')
            self.count += report.amends is None
            self.quarters.append(quarter)
            for variant, shape in enumerate((shapes[0], shapes[0], shapes[1])):
                weight = weight_of(shape, quarter, length)
                if report.amends is not None:
                    weight += weight // 37 + 1
                elif variant == 1 and quarter != report.quarter and quarter // 4 in restated:
                    weight += weight // 29 + 1
                self.weights[variant].append(weight)
        self.text = ",".join(texts)
        self.bytes = self.count * BYTES_OF_A_FACT + BYTES_OF_A_CONCEPT

    def filled(self, head, number, variant=0):
        return head + self.text % tuple([number * weight for weight in self.weights[variant]]) + "]}}"


def stamp(report):
    """What a fact says of its report: every fact of a report has the report's own year and quarter."""
    part = "FY" if report.part == 4 else f"Q{report.part}"
    return f'"accn":"{report.accession}","fy":{report.year},"fp":"{part}","form":"{report.form}","filed":"{ISO[report.filed]}"'


def weight_of(shape, quarter, length):
    """Length 0 is a balance, 1 a quarter, 2 the year to date, 4 a year."""
    flows, balances = shape
    if length == 0:
        return balances[quarter]
    return flows[quarter] if length == 1 else sum(flows[part] for part in range(quarter // 4 * 4, quarter + 1))


def frame_of(start, end, length):
    day = datetime.date.fromordinal((start + end) // 2 if start else end - 15)
    return f"CY{day.year}" if length == 4 else f"CY{day.year}Q{(day.month + 2) // 3}" + ("" if start else "I")


class Facts(Company):
    """A company with the text of its member."""

    def mentions(self, kind, reports):
        """What reports say of a concept: (report, start, end, quarter, length)."""
        found = []
        for report in reports:
            quarter, of_year = report.quarter, report.quarter // 4 * 4
            start = self.end_of(of_year - 1) + 1
            is_amendment = report.amends is not None
            if kind[0] == "I":
                for of in (quarter,) if is_amendment else (quarter, of_year - 1):
                    found.append((report, None, self.end_of(of), of, 0))
            elif report.part == 4:
                for back in (0,) if is_amendment else (0, 4, 8):
                    found.append((report, self.end_of(of_year - back - 1) + 1, self.end_of(quarter - back), quarter - back, 4))
            else:
                for back in (0,) if is_amendment else (0, 4):
                    if kind[0] == "D" or report.part == 1:
                        found.append((report, self.end_of(quarter - back - 1) + 1, self.end_of(quarter - back), quarter - back, 1))
                    if report.part > 1:
                        found.append((report, self.end_of(of_year - back - 1) + 1 if back else start, self.end_of(quarter - back), quarter - back, 2))
        return found

    def text(self, settings):
        """The member, in the SEC's native layout."""
        random = settings.random("facts", self.number)
        taxonomies = {}
        if self.reports:
            concepts = self.concepts(random)
            taxonomies["dei"] = self.cover()
            taxonomies["ifrs-full" if self.kind == "foreign" else "us-gaap"] = concepts
        else:
            taxonomies["ffd"] = self.fees(random, settings)
        facts = ",".join(f'"{taxonomy}":{{{",".join(concepts[name] for name in sorted(concepts))}}}' for taxonomy, concepts in taxonomies.items())
        return f'{{"cik":{self.cik},"entityName":"{self.name}","facts":{{{facts}}}}}'

    def fees(self, random, settings):
        """Registrants that tag nothing but the fees of an offering."""
        facts = []
        count = random.randint(1, 12)
        days = sorted(random.randint(settings.first - 900, settings.first - 1) for _ in range(count))
        for place, day in enumerate([*days, *(settings.day(night) for night in self.changes)]):
            accession = f"{self.cik:010d}-{datetime.date.fromordinal(day).year % 100:02d}-{place + 1:06d}"
            facts.append(f'{{"end":"{ISO[day]}","val":{(self.cik * (place + 1) * 7919) % 9_000_000 / 100},"accn":"{accession}","fy":null,"fp":null,'
                         f'"form":"424B2","filed":"{ISO[day]}"}}')
        return {"TtlFeeAmt": header("TtlFeeAmt", "USD", "ffd") + ",".join(facts) + "]}}"}

    def cover(self):
        counts, floats = [], []
        for report in self.reports:
            count, day = self.shares * share_weight(report.quarter), report.filed - 8
            counts.append(f'{{"end":"{ISO[day]}","val":{count},{stamp(report)},"frame":"{frame_of(None, day, 0)}"}}')
            if report.part == 4:
                floats.append(f'{{"end":"{ISO[self.end_of(report.quarter - 2)]}","val":{count * 7},{stamp(report)}}}')
        cover = {"EntityCommonStockSharesOutstanding": CORE["EntityCommonStockSharesOutstanding"] + ",".join(counts) + "]}}"}
        if floats:
            cover["EntityPublicFloat"] = CORE["EntityPublicFloat"] + ",".join(floats) + "]}}"
        return cover

    def concepts(self, random):
        """Concepts with their text, as many as the member's size takes."""
        quarters = range(self.reports[0].quarter // 4 * 4 - 12, self.reports[-1].quarter + 5)
        shapes = [walk(random, quarters), walk(random, quarters)]
        restated = {year for year in range(quarters[0] // 4, quarters[-1] // 4 + 1) if random.random() < 0.07}
        own = [report for report in self.reports if report.amends is None]
        spans = {"": self.reports, "early": own[:len(own) * 3 // 5], "late": self.reports[len(own) * 3 // 5:]}
        templates = {}

        def template(kind, span=""):
            if (kind, span) not in templates:
                reports = [report for report in spans[span] if len(kind) == 1 or report.part == 4]
                templates[kind, span] = Template(self.mentions(kind, reports), shapes, restated)
            return templates[kind, span]

        factor = random.choice((1, 1000, 1000, 1000, 1_000_000) if self.target > 1 << 20 else (1, 1000, 1000))
        turnover = max(20, int(10 ** random.uniform(1.3, 4.5) * (1 if factor > 1 else 30)))
        if factor == 1_000_000:
            turnover = max(20, turnover // 200)
        income = int(turnover * random.uniform(-0.15, 0.3)) or 1
        equity, liabilities = int(turnover * random.uniform(0.2, 1.5)) + 1, int(turnover * random.uniform(0.2, 2)) + 1
        self.shares = max(1, int(abs(income) * factor / random.uniform(8, 250)) // 50)
        texts, budget = {}, self.target
        if self.kind == "foreign":
            universe = list(FOREIGN[:5])
        else:
            revenue = REVENUES[self.number % 2] if self.is_current else random.choice(REVENUES)
            for name, kind, number in (("Assets", "I", equity + liabilities), ("LiabilitiesAndStockholdersEquity", "I", equity + liabilities),
                                       ("StockholdersEquity", "I", equity), ("NetIncomeLoss", "D", income), (revenue, "D", turnover),
                                       ("NetCashProvidedByUsedInOperatingActivities", "C", income + turnover // 19),
                                       ("CashAndCashEquivalentsAtCarryingValue", "I", max(1, equity // 5)), ("Liabilities", "I", liabilities)):
                if name == "Liabilities" and self.number % 5 < 2:
                    continue
                texts[name] = template(kind).filled(CORE[name], number * factor, random.choice((0, 1)) if kind != "I" else 0)
                budget -= template(kind).bytes
            self.per_share(texts, template("D"), income * factor)
            budget -= 4 * template("D").bytes
            universe = random.sample(DECLARED, random.randint(12, len(DECLARED)))
        rest = FOREIGN[5:] if self.kind == "foreign" else FILLERS
        # A step that shares no factor with the list's length: every concept comes up once, in an order of the company's own.
        place, step = random.randrange(len(rest)), 2 * random.randrange(1, len(rest) // 3) + 1
        while len(rest) % step == 0 or step % 3 == 0 or step % 5 == 0 or step % 7 == 0 or step % 11 == 0 or step % 13 == 0:
            step += 2
        is_large = self.target > 3 << 20
        declared = len(universe)
        for index in range(declared + len(rest)):
            if budget < 0:
                break
            if index < declared:
                name, kind, head = universe[index]
                span = ""
            else:
                place = (place + step) % len(rest)
                name, kind, head = rest[place]
                span = random.choice(("", "", "late", "early")) if is_large else random.choice(("", "late", "late", "early"))
                if not is_large and kind != "C" and random.random() < 0.5:
                    kind += "A"
            if name in texts:
                continue
            taken = template(kind, span)
            if not taken.count:
                continue
            texts[name] = taken.filled(head, (int(turnover * random.random()) + 1) * factor, random.choice((0, 0, 1, 2)))
            budget -= taken.bytes
        return texts

    def per_share(self, texts, template, income):
        """Earnings per share and what they are divided by, from net income as `template` has it."""
        shares = [self.shares * share_weight(quarter) for quarter in template.quarters]
        diluted = [count + count // 50 for count in shares]
        for name, counts in (("WeightedAverageNumberOfSharesOutstandingBasic", shares), ("WeightedAverageNumberOfDilutedSharesOutstanding", diluted)):
            texts[name] = CORE[name] + template.text % tuple(counts) + "]}}"
        for name, counts in (("EarningsPerShareBasic", shares), ("EarningsPerShareDiluted", diluted)):
            values = [round(income * weight / count, 2) for weight, count in zip(template.weights[0], counts)]
            texts[name] = CORE[name] + template.text % tuple([0 if value == 0 else value for value in values]) + "]}}"


def share_weight(quarter):
    """Shares of a company by quarter, in parts of its own number: they grow a little."""
    return 1_000_000 + (quarter - 8_000) * 1_573


def walk(random, quarters):
    """Weights of flows and of balances: each quarter is a little more or less than the one before."""
    flow, balance, flows, balances = 9_000, 37_000, {}, {}
    for quarter in quarters:
        flow = max(2_000, int(flow * random.uniform(0.93, 1.09)))
        balance = max(9_000, int(balance * random.uniform(0.95, 1.07)))
        flows[quarter], balances[quarter] = flow + random.randint(0, 900), balance
    return flows, balances


def chunk(settings, packed_at, numbers):
    """Members of some companies, packed, and their rows of the quarterly indexes."""
    members, rows = [], {}
    for number in numbers:
        company = Facts(settings, number)
        members.append((f"CIK{company.cik:010d}.json", company.text(settings).encode()))
        for report in company.reports:
            filed = datetime.date.fromordinal(report.filed)
            rows.setdefault(f"{filed.year}/QTR{(filed.month + 2) // 3}", []).append(
                f"{company.cik}|{company.name}|{report.form}|{filed}|edgar/data/{company.cik}/{report.accession}.txt\n")
    return (*pack(members, packed_at), {quarter: "".join(lines) for quarter, lines in rows.items()})

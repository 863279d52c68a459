"""Uses the client that openapi-python-client generated against the server that PUBDATA_URL names, on the fixtures' release."""

import datetime
import importlib
import os
import pkgutil

import generated.api
import generated.models
from generated import AuthenticatedClient, models
from generated.types import UNSET

client = AuthenticatedClient(base_url=os.environ["PUBDATA_URL"], token=os.environ["PUBDATA_KEY"])

# Every module can be imported.
for package in (generated.api, generated.models):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)

operations = {
    name.rsplit(".", 1)[1]: importlib.import_module(name)
    for _, name, is_package in pkgutil.walk_packages(generated.api.__path__, "generated.api.")
    if not is_package
}
answered = 0


def ask(operation, *values, **query):
    global answered
    answer = operations[operation].sync(*values, client=client, **query)
    assert not isinstance(answer, models.Problem), (operation, answer)
    assert answer is not None, operation
    answered += 1
    return answer.data


place = ask("get_location", "90210")
assert place.geography.primary_county_name == "Los Angeles County"
assert place.summary["households"].moe_status is models.MoeStatus.PUBLISHED
two = [models.MetricKey.POPULATION, models.MetricKey.MEDIAN_HOUSEHOLD_INCOME]
chosen = ask("get_demographics", "95120", metric=two, history=True)
assert sorted(chosen.demographics.additional_properties) == ["median_household_income", "population"], chosen
assert len(ask("get_schools", "35950", limit=2).schools) == 2
body = models.CompareRequest(locations=["90210", "95120"], metrics=two)
assert len(ask("compare_locations", body=body).comparisons) == 2
assert ask("get_county", "06037").geography.type_ is models.GeographyType.COUNTY
assert ask("search_companies", name="apple")[0].cik == "0000320193"
assert ask("get_company", "320193").name == "Apple Inc."
assert ask("get_company_financials", "320193", metric=[models.FinancialMetric.REVENUE]).series
assert ask("search_businesses", name="radar associates")
assert ask("verify_license", number="21907", state="TX").result
assert ask("search_permits", address="11436 Flushwing Dr, Austin, TX", type_=[models.PermitType.BUILDING, models.PermitType.ROOF])
assert ask("get_zip", "90210", fields=[models.ZipField.CITY, models.ZipField.STATE]).city == "Beverly Hills"
assert len(ask("get_nearby_zips", "55401", radius_mi=5.0)) == 4
assert ask("get_tax_rate", zip_="55401", date=datetime.date(2019, 1, 1)).combined_rate
assert ask("get_coverage").datasets
assert ask("get_provenance", "geo.zcta_metric:2023:90210:population").sources

problem = operations["get_zip"].sync("00000", client=client)
assert isinstance(problem, models.Problem) and problem.code is models.ProblemCode.NOT_FOUND, problem
assert problem.candidates is UNSET

print(answered, "operations answered")

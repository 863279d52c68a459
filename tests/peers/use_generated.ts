// Uses the client of openapi-fetch with the types that openapi-typescript generated, against the server that PUBDATA_URL names.

import createClient from "openapi-fetch";
import type { components, paths } from "./generated.js";

declare const process: { env: Record<string, string | undefined> };

// Lists are also available as tables; these are the formats requested here.
type Forms = "application/json" | "application/problem+json";
const client = createClient<paths, Forms>({
  baseUrl: process.env.PUBDATA_URL!,
  headers: { "X-API-Key": process.env.PUBDATA_KEY },
});
type Problem = components["schemas"]["Problem"];
type Asked<T> = Promise<{ data?: { data: T }; error?: Problem }>;
let answered = 0;

async function ask<T>(asked: Asked<T>): Promise<T> {
  const { data, error } = await asked;
  if (!data) throw new Error(JSON.stringify(error));
  answered += 1;
  return data.data;
}

function hold(isSo: boolean, what: unknown): asserts isSo {
  if (!isSo) throw new Error(JSON.stringify(what));
}

const place = await ask(client.GET("/v1/geo-demographics/locations/{zcta}", { params: { path: { zcta: "90210" } } }));
hold(place.geography.primary_county_name === "Los Angeles County", place);
const status: components["schemas"]["MoeStatus"] = place.summary["households"]!.moe_status;
hold(status === "published", status);
const metrics: components["schemas"]["MetricKey"][] = ["population", "median_household_income"];
const chosen = await ask(
  client.GET("/v1/geo-demographics/locations/{zcta}/demographics", { params: { path: { zcta: "95120" }, query: { metrics, history: true } } }),
);
hold(Object.keys(chosen.demographics).length === 2, chosen);
const comparison = await ask(client.POST("/v1/geo-demographics/locations/compare", { body: { locations: ["90210", "95120"], metrics } }));
hold(comparison.comparisons.length === 2, comparison);
const schools = await ask(client.GET("/v1/geo-demographics/locations/{zcta}/schools", { params: { path: { zcta: "35950" }, query: { limit: 2 } } }));
hold(schools.schools.length === 2, schools);
const county = await ask(client.GET("/v1/geo-demographics/counties/{fips}", { params: { path: { fips: "06037" } } }));
hold(county.geography.type === "county", county);
const companies = await ask(client.GET("/v1/sec/companies/search", { params: { query: { name: "apple" } } }));
hold(companies[0]?.cik === "0000320193", companies);
const company = await ask(client.GET("/v1/sec/companies/{cik}", { params: { path: { cik: "320193" } } }));
hold(company.name === "Apple Inc.", company);
const zip = await ask(client.GET("/v1/zip/{zip}", { params: { path: { zip: "90210" }, query: { fields: ["city", "state"] } } }));
hold(zip.city === "Beverly Hills", zip);
const near = await ask(client.GET("/v1/zip/{zip}/nearby", { params: { path: { zip: "55401" }, query: { radius_mi: 5 } } }));
hold(near.length === 4, near);
const rate = await ask(client.GET("/v1/tax/rate", { params: { query: { zip: "55401", date: "2019-01-01" } } }));
hold(rate.combined_rate !== null, rate);
const coverage = await ask(client.GET("/v1/coverage"));
hold(coverage.datasets.length > 10, coverage.datasets.length);
const chain = await ask(client.GET("/v1/provenance/{record_id}", { params: { path: { record_id: "geo.zcta_metric:2023:90210:population" } } }));
hold(chain.sources.length > 0, chain);

const { error } = await client.GET("/v1/zip/{zip}", { params: { path: { zip: "00000" } } });
const code: components["schemas"]["ProblemCode"] | undefined = error?.code;
hold(code === "not_found", error);

console.log(answered, "operations answered");

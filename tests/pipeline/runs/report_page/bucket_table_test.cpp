#include "pipeline/runs/report_page/bucket_table.h"

#include <doctest/doctest.h>

#include <cmath>

namespace flowtrain::bucket_table_test {

using nlohmann::ordered_json;

namespace {

void add(BucketTable& table, double iteration, std::vector<LineField> fields) {
  table.add(iteration, fields.data(), fields.size());
}

}  // namespace

TEST_CASE("buckets: few lines stay as they are, without a band; texts and gaps are left out") {
  BucketTable table;
  add(table, 20, {{"kind", NAN, "train", true}, {"iter", 20}, {"loss", 0.5}, {"elapsed_s", 1.25}});
  add(table, 40, {{"kind", NAN, "train", true}, {"iter", 40}, {"loss", NAN}, {"elapsed_s", 2.5}, {"late", 1.0 / 3}});
  const auto json = table.json();
  CHECK(json["iter"].size() == 2);
  CHECK(json["iter"] == ordered_json({20, 40}));
  CHECK(json["elapsed_s"] == ordered_json({1.25, 2.5}));
  CHECK(json["series"]["loss"] == ordered_json({{"mean", {0.5, nullptr}}}));
  CHECK(json["series"]["late"] == ordered_json({{"mean", {nullptr, 0.33333}}}));
  CHECK(json["series"].size() == 2);
  CHECK(json["newest"]["loss"] == nullptr);
}

TEST_CASE("buckets: of 100,000 lines every spike stays in the band, and means are exact") {
  BucketTable table;
  for (int i = 1; i <= 100'000; ++i) add(table, i, {{"loss", i == 54'321 ? 99.0 : i == 777 ? -7.0 : 1.0}});
  const auto json = table.json();
  const auto rows = json["iter"].size();
  CHECK(rows <= BucketTable::most_rows);
  CHECK(rows > BucketTable::most_rows / 2);
  CHECK(json["iter"].back() == 100'000);
  int high = 0, low = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    high += json["series"]["loss"]["high"][i] == 99 ? 1 : 0;
    low += json["series"]["loss"]["low"][i] == -7 ? 1 : 0;
  }
  CHECK(high == 1);
  CHECK(low == 1);
  CHECK(json["series"]["loss"]["mean"][rows - 1] == 1);
  const double lines = json["iter"][0];  // from 1 on
  const auto at = static_cast<std::size_t>((777 - 1) / lines);
  CHECK(json["series"]["loss"]["mean"][at].get<double>() == doctest::Approx(1 - 8 / lines).epsilon(1e-4));
}

TEST_CASE("buckets: many series have fewer rows, so the text stays small") {
  BucketTable table;
  for (int i = 1; i <= 2000; ++i) {
    std::vector<LineField> fields;
    for (int j = 0; j < 300; ++j) fields.push_back({"series" + std::to_string(j), std::sin(i * 0.37 + j)});
    table.add(i, fields.data(), fields.size());
  }
  CHECK(table.json().dump().size() < 1'200'000);
  CHECK(table.json()["iter"].size() >= 50);
}

}  // namespace flowtrain::bucket_table_test

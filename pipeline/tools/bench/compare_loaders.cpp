#include "pipeline/tools/bench/compare_loaders.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/json_text.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/field_text.h"
#include "stages/trace/clock.h"

namespace flowtrain {
namespace {

constexpr int turns = 5;

DataLoaderOptions options() { return {.training = true, .drop_last = false, .floats = false}; }

/// Runs `body`; the messages of UserErrors name the loader that they are about.
template <class Body>
auto naming_loader(const char* which, Body body) {
  try {
    return body();
  } catch (const UserError& error) {
    throw UserError(error.code(), concat(which, ": ", error.what()), error.hint());
  }
}

std::unique_ptr<LoadedBatch> next_batch(DataLoader& loader) {
  for (;; loader.begin_epoch())
    if (auto batch = loader.next()) return batch;
}

/// Returns the samples per second after the first batch.
double rate_of(DataLoader& loader, double seconds) {
  loader.begin_epoch();
  next_batch(loader);
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t samples = 0;
  while (seconds_since(begin) < seconds) samples += next_batch(loader)->rows;
  const double rate = static_cast<double>(samples) / seconds_since(begin);
  loader.close();  // it must not fill its buffers while the other loader is measured
  return rate;
}

Spread spread_of(std::vector<double> values) {
  std::ranges::sort(values);
  return {values[values.size() / 2], values.front(), values.back()};
}

nlohmann::ordered_json to_json(const Spread& spread) {
  return {{"median", spread.median}, {"least", spread.least}, {"most", spread.most}};
}

}  // namespace

LoaderPair::LoaderPair(const Config& a) : a_(naming_loader("A", [&] { return DataLoader(a, options()); })) {}

void LoaderPair::open_b(const Config& b) {
  naming_loader("B", [&] { b_.emplace(b, options()); });
}

std::uint64_t LoaderPair::compare_batches(std::optional<std::uint64_t> batches) {
  compare_fields();
  a_.begin_epoch();
  b_->begin_epoch();
  std::uint64_t samples = 0;
  for (std::uint64_t number = 1; number <= batches.value_or(a_.batches()); ++number) {
    const auto a = naming_loader("A", [&] { return next_batch(a_); });
    const auto b = naming_loader("B", [&] { return next_batch(*b_); });
    compare(*a, *b, number);
    samples += a->rows;
  }
  a_.close();
  b_->close();
  return samples;
}

void LoaderPair::compare_fields() const {
  const auto a = describe_fields(a_.fields()), b = describe_fields(b_->fields());
  if (a != b)
    throw UserError(ExitCode::data, concat("A and B differ: the rows of A are ", a, ", those of B are ", b),
                    "compare loaders that make the same fields");
  if (a_.batches() != b_->batches())
    throw UserError(ExitCode::data,
                    concat("A and B differ: an epoch of A has ", a_.batches(), " batches, one of B ", b_->batches()),
                    "compare loaders with the same data and batches, or leave out --same");
}

void LoaderPair::compare(const LoadedBatch& a, const LoadedBatch& b, std::uint64_t number) const {
  const auto differ = [&](std::size_t row, const std::string& what) {
    throw UserError(ExitCode::data, concat("A and B differ: batch ", number, ", row ", row, " (",
                                           a_.describe(a.ids[row]), "): ", what));
  };
  for (std::size_t i = 0; i < std::min(a.ids.size(), b.ids.size()); ++i)
    if (a.ids[i] != b.ids[i]) differ(i, "B has " + b_->describe(b.ids[i]) + " here");
  for (std::size_t row = 0; row < std::min(a.rows, b.rows); ++row) {
    for (std::size_t i = 0; i < a_.fields().size(); ++i) {
      const Field field = a.stored_field(i), other = b.stored_field(i);
      if (field.shape != other.shape)
        differ(row, concat("field '", field.name, "' is ", join(field.shape, "x"), " in A, ", join(other.shape, "x"),
                           " in B"));
      const std::byte* const in_a = a.field(i) + row * field.row_bytes();
      const std::byte* const in_b = b.field(i) + row * field.row_bytes();
      const std::size_t element = first_difference(field, in_a, in_b);
      if (element != SIZE_MAX)
        differ(row,
               concat("field '", field.name, "'", element_place(field, element), " is ",
                      element_value(field, in_a, element), " in A, ", element_value(field, in_b, element), " in B"));
    }
  }
  if (a.rows != b.rows) differ(std::min(a.rows, b.rows) - 1, concat("A has ", a.rows, " rows, B ", b.rows));
}

LoaderComparison LoaderPair::compare_rates(double seconds) {
  std::vector<double> a, b, ratio;
  for (int turn = 0; turn < turns; ++turn) {
    a.push_back(naming_loader("A", [&] { return rate_of(a_, seconds); }));
    b.push_back(naming_loader("B", [&] { return rate_of(*b_, seconds); }));
    ratio.push_back(b.back() / a.back());
  }
  return {turns, spread_of(a), spread_of(b), spread_of(ratio)};
}

std::string to_table(const LoaderComparison& comparison, const std::string& b) {
  std::string text;
  const auto line = [&](const char* format, auto... values) { text += printed(format, values...); };
  line("%-8s %14s %14s %14s\n", "loader", "samples/s", "least", "most");
  for (auto& [name, rate] : {std::pair{"A", &comparison.a}, {"B", &comparison.b}})
    line("%-8s %14.0f %14.0f %14.0f\n", name, rate->median, rate->least, rate->most);
  line("%-8s %14.3f %14.3f %14.3f\n", "B / A", comparison.ratio.median, comparison.ratio.least, comparison.ratio.most);
  return concat(text, "medians of ", comparison.turns, " turns; A is the config, B has ", b, ".\n");
}

std::string to_json(const LoaderComparison& comparison, const std::string& b) {
  const nlohmann::ordered_json json{{"turns", comparison.turns},
                                    {"b_has", b},
                                    {"a_samples_per_s", to_json(comparison.a)},
                                    {"b_samples_per_s", to_json(comparison.b)},
                                    {"ratio", to_json(comparison.ratio)}};
  return json_text(json, 2) + "\n";
}

}  // namespace flowtrain

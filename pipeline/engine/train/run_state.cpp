#include "pipeline/engine/train/run_state.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <nlohmann/json.hpp>
#include <ranges>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

using nlohmann::json;

bool RunState::has_saved(const std::string& part) const {
  return std::find(saved.begin(), saved.end(), part) != saved.end();
}

void ReportState::note(const std::string& name, double value) {
  constexpr std::size_t window = 20;
  if (!std::isfinite(value)) return;
  auto& values = recent[name];
  values.push_back(value);
  if (values.size() > window) values.pop_front();
}

double ReportState::recent_mean(const std::string& name) const {
  const auto found = recent.find(name);
  double mean = 0;
  if (found != recent.end())
    for (const double value : found->second) mean += value / static_cast<double>(found->second.size());
  return mean;
}

std::uint64_t RunState::validates_again_from() const {
  const auto& pending = validations.pending;
  if (pending && !pending->scalars) return pending->iteration;
  return validations.due ? iteration : iteration + 1;
}

namespace {

template <class T, class Plain>
concept Is = std::same_as<std::remove_const_t<T>, Plain>;

// Calls `member` with each member that state.json holds, to write or to read it. `may_lack`: a file may omit it.
constexpr bool may_lack = true;

void members(Is<Ranked> auto& of, const auto& member) { member("iteration", of.iteration), member("value", of.value); }
void members(Is<RuledMetric> auto& of, const auto& member) {
  member("metric", of.name), member("lower_wins", of.lower_wins);
}
void members(Is<Ranking> auto& of, const auto& member) { members(of.of, member), member("entries", of.entries); }
void members(Is<BestValue> auto& of, const auto& member) { members(of.of, member), member("value", of.value); }
void members(Is<ScalarSum> auto& of, const auto& member) { member("sum", of.sum), member("count", of.count); }
void members(Is<EarlyStopState> auto& of, const auto& member) { member("best", of.best), member("since", of.since); }
void members(Is<PendingValidation> auto& of, const auto& member) {
  member("iteration", of.iteration), member("metrics", of.scalars), member("training", of.training, may_lack);
}
void members(Is<ValidationState> auto& of, const auto& member) {
  member("batches", of.batches), member("bad_samples", of.bad_samples);
}
void members(Is<PixelForm> auto& of, const auto& member) {
  member("height", of.height), member("width", of.width), member("channels", of.channels);
}
void members(Is<PendingLine> auto& of, const auto& member) {
  member("iterations", of.iterations), member("clipped", of.clipped), member("logged", of.logged);
}
void members(Is<RunState> auto& of, const auto& member) {
  member("iteration", of.iteration);
  member("elapsed_s", of.elapsed_s);
  member("samples", of.samples.count, may_lack);
  member("bad_samples", of.samples.bad_samples);
  member("recent", of.reports.recent, may_lack);
  member("epoch_sums", of.reports.epoch_sums, may_lack);
  member("line", of.reports.line, may_lack);
  member("best", of.validations.best);
  member("validation_pending", of.validations.due);
  member("awaited", of.validations.pending, may_lack);
  member("validation", of.validations.sets);
  member("early_stop", of.validations.early_stop, may_lack);
  member("nonfinite", of.nonfinite.count);
  member("nonfinite_in_a_row", of.nonfinite.in_a_row);
  member("rollback_limit", of.nonfinite.rollback_limit);
  member("rollback_targets", of.nonfinite.rollback_targets, may_lack);
  member("lr_scale", of.hyper.lr_scale);
  member("schedules", of.hyper.schedules, may_lack);
  member("hooks", of.hooks.states, may_lack);
  member("hooks_logged", of.hooks.logged, may_lack);
  member("skipped_in_a_row", of.skipped_in_a_row, may_lack);
  member("samples_per_epoch", of.inputs.samples_per_epoch);
  member("classes", of.inputs.classes, may_lack);
  member("pixels", of.inputs.pixels, may_lack);
  member("parts", of.inputs.parts, may_lack);
  member("fingerprints", of.inputs.fingerprints, may_lack);
  member("world", of.world);
  member("renamed", of.renamed, may_lack);
  member("saved", of.saved);
}

// JSON demands UTF-8, but names of folders and states of plugins may be other bytes. Such a text becomes a list of its
// bytes.
json text_json(const std::string& text) try {
  static_cast<void>(json(text).dump());
  return text;
} catch (const json::type_error&) {
  return std::vector<std::uint8_t>(text.begin(), text.end());
}

template <class T>
json written(const T& value) {
  json stored;
  if constexpr (std::is_arithmetic_v<T>) {
    stored = value;
  } else if constexpr (std::same_as<T, std::string>) {
    stored = text_json(value);
  } else if constexpr (std::same_as<T, PartForm>) {
    stored = {{"name", text_json(value.name)},
              {"encoding", name_of(value.encoding)},
              {"dtype", name_of(value.dtype)},
              {"shape", value.shape}};
  } else if constexpr (requires { value.has_value(); }) {
    if (value) stored = written(*value);
  } else if constexpr (requires { value.first; }) {
    stored = json::array({written(value.first), written(value.second)});
  } else if constexpr (requires { typename T::mapped_type; }) {
    stored = json::object();
    for (auto& [key, each] : value) stored[key] = written(each);
  } else if constexpr (std::ranges::range<T>) {
    stored = json::array();
    for (auto& each : value) stored.push_back(written(each));
  } else {
    members(value, [&](const char* key, auto& member, bool = false) { stored[key] = written(member); });
  }
  return stored;
}

// Nesting is limited because each level takes 80 bytes of memory for one byte of text.
bool refuse_depth(int depth, json::parse_event_t, json&) {
  constexpr int deepest = 64;  // to_json() writes five levels
  if (depth > deepest) throw json::other_error::create(501, concat("nested deeper than ", deepest), nullptr);
  return true;
}

// Returns a whole number that is not negative; json's own conversions accept others, too.
std::uint64_t count(const json& value) {
  if (!value.is_number_unsigned()) throw json::type_error::create(302, "not a count", &value);
  return value.get<std::uint64_t>();
}

std::string text_from(const json& stored) {
  if (stored.is_string()) return stored.get<std::string>();
  std::string text;
  for (auto& byte : stored) {
    const auto value = count(byte);
    if (value > 0xff) throw json::type_error::create(302, "not a byte", &byte);
    text += static_cast<char>(value);
  }
  return text;
}

// Returns the value with this name of an enumeration from 0 to `last`.
template <class Kind>
Kind by_name(const json& stored, Kind last) {
  for (int value = 0; value <= static_cast<int>(last); ++value)
    if (stored == name_of(static_cast<Kind>(value))) return static_cast<Kind>(value);
  throw json::type_error::create(302, "not a kind of part", &stored);
}

template <class T>
void read(const json& stored, T& value) {
  if constexpr (std::same_as<T, bool>) {
    value = stored.get<bool>();
  } else if constexpr (std::integral<T>) {
    value = static_cast<T>(count(stored));
  } else if constexpr (std::floating_point<T>) {
    value = stored.is_null() ? std::nan("") : stored.get<double>();  // a value that is not finite was written as null
  } else if constexpr (std::same_as<T, std::string>) {
    value = text_from(stored);
  } else if constexpr (std::same_as<T, PartForm>) {
    value = {text_from(stored.at("name")), by_name(stored.at("encoding"), Encoding::audio),
             by_name(stored.at("dtype"), DType::f32), stored.at("shape").get<std::vector<std::int64_t>>()};
    if (std::ranges::any_of(value.shape, [](auto extent) { return extent < -1 || extent > INT32_MAX; }))
      throw json::type_error::create(302, "not a shape", &stored);
  } else if constexpr (requires { value.has_value(); }) {
    if (!stored.is_null()) read(stored, value.emplace());
  } else if constexpr (requires { value.first; }) {
    read(stored.at(0), value.first);
    read(stored.at(1), value.second);
  } else if constexpr (requires { typename T::mapped_type; }) {
    for (auto& [key, each] : stored.items()) read(each, value[key]);
  } else if constexpr (std::ranges::range<T>) {
    value.clear();
    for (auto& each : stored) {
      typename T::value_type item{};
      read(each, item);
      value.insert(value.end(), std::move(item));
    }
  } else {
    members(value, [&](const char* key, auto& member, bool optional = false) {
      if (!optional || stored.contains(key)) read(stored.at(key), member);
    });
  }
}

}  // namespace

std::string RunState::to_json() const {
  json stored = written(*this);
  stored["order_xxh64_state"] = samples.order.save();
  stored["order_xxh64"] = samples.order.hex();
  if (!has_saved("schedule"))
    stored.update({{"schedules", json::object()}, {"lr_scale", 1.0}, {"rollback_limit", NonFiniteState::no_limit}});
  return stored.dump(2);
}

RunState RunState::from_json(const std::string& text) try {
  const auto stored = json::parse(text, refuse_depth);
  RunState state;
  read(stored, state);
  state.samples.order = Xxh64::restore(stored.at("order_xxh64_state").get<std::string>());
  return state;
} catch (const json::exception& error) {
  constexpr std::size_t most = 300;  // characters: the error may quote the whole file
  throw UserError(ExitCode::snapshot,
                  "state.json of the snapshot cannot be used: " + std::string(error.what()).substr(0, most),
                  "another version of flowtrain wrote it, or it was changed");
}

}  // namespace flowtrain

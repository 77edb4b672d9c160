#include "pipeline/train/run_state.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sampling/core/error.h"

namespace flowtrain {

using nlohmann::json;

bool RunState::has_saved(const std::string& part) const {
  return std::find(saved.begin(), saved.end(), part) != saved.end();
}

std::uint64_t RunState::validates_again_from() const {
  if (awaited && !awaited->scalars) return awaited->iteration;
  return validation_pending ? iteration : iteration + 1;
}

namespace {

json scalars_json(const Scalars& scalars) {
  json list = json::array();
  for (auto& [name, value] : scalars) list.push_back(json::array({name, value}));
  return list;
}

// Texts need not be UTF-8, which JSON demands (names of folders, states of plugins): such a text is a list of its
// bytes.
json name_json(const std::string& name) {
  try {
    const json text = name;
    static_cast<void>(text.dump());
    return text;
  } catch (const json::type_error&) {
    return std::vector<std::uint8_t>(name.begin(), name.end());
  }
}

json names_json(const std::vector<std::string>& names) {
  json list = json::array();
  for (auto& name : names) list.push_back(name_json(name));
  return list;
}

json awaited_json(const std::optional<AwaitedValidation>& awaited) {
  if (!awaited) return nullptr;
  return {{"iteration", awaited->iteration},
          {"metrics", awaited->scalars ? scalars_json(*awaited->scalars) : json()},
          {"training", scalars_json(awaited->training)}};
}

json ruled_json(const RuledMetric& of) { return {{"metric", of.name}, {"lower_wins", of.lower_wins}}; }

json best_json(const std::optional<BestValue>& best) {
  if (!best) return nullptr;
  json stored = ruled_json(best->of);
  stored["value"] = best->value;
  return stored;
}

// Plugins write what they like; as name_json().
json texts_json(const std::map<std::string, std::string>& texts) {
  json object = json::object();
  for (auto& [name, text] : texts) object[name] = name_json(text);
  return object;
}

json line_json(const PendingLine& line) {
  return {{"iterations", line.iterations}, {"clipped", line.clipped}, {"logged", scalars_json(line.logged)}};
}

}  // namespace

std::string RunState::to_json() const {
  const bool schedule = has_saved("schedule");
  json rankings = json::object();
  for (auto& [link, ranking] : best) {
    json& entries = (rankings[link] = ruled_json(ranking.of))["entries"] = json::array();
    for (auto& entry : ranking.entries) entries.push_back({{"iteration", entry.iteration}, {"value", entry.value}});
  }
  json sets = json::object();
  for (auto& [name, set] : validation) sets[name] = {{"batches", set.batches}, {"bad_samples", set.bad_samples}};
  json epoch = json::object();
  for (auto& [name, scalar] : epoch_sums) epoch[name] = {{"sum", scalar.sum}, {"count", scalar.count}};
  return json{{"iteration", iteration},
              {"samples_per_epoch", samples_per_epoch},
              {"order_xxh64_state", order.save()},
              {"order_xxh64", order.hex()},
              {"losses", losses},
              {"epoch_sums", epoch},
              {"line", line_json(line)},
              {"best", rankings},
              {"validation_pending", validation_pending},
              {"awaited", awaited_json(awaited)},
              {"bad_samples", bad_samples},
              {"validation", sets},
              {"world", world},
              {"classes", names_json(classes)},
              {"fingerprints", fingerprints},
              {"elapsed_s", elapsed_s},
              {"early_stop", {{"best", best_json(early_stop.best)}, {"since", early_stop.since}}},
              {"schedules", schedule ? texts_json(schedules) : json::object()},
              {"hooks", texts_json(hooks)},
              {"nonfinite", nonfinite},
              {"nonfinite_in_a_row", nonfinite_in_a_row},
              {"skipped_in_a_row", skipped_in_a_row},
              {"lr_scale", schedule ? lr_scale : 1.0},
              {"rollback_limit", schedule ? rollback_limit : no_limit},
              {"rollback_targets", rollback_targets},
              {"saved", saved}}
      .dump(2);
}

namespace {

/// Each level takes 80 bytes of memory for a byte of text.
bool refuse_depth(int depth, json::parse_event_t, json&) {
  constexpr int deepest = 64;  // what to_json() writes has five levels
  if (depth > deepest) throw json::other_error::create(501, "nested deeper than " + std::to_string(deepest), nullptr);
  return true;
}

/// A number that is whole and not negative; json's own conversions take others, too.
std::uint64_t count(const json& value) {
  if (!value.is_number_unsigned()) throw json::type_error::create(302, "not a count", &value);
  return value.get<std::uint64_t>();
}

std::string name_from(const json& stored) {
  if (stored.is_string()) return stored.get<std::string>();
  std::string name;
  for (auto& byte : stored) {
    const auto value = count(byte);
    if (value > 0xff) throw json::type_error::create(302, "not a byte", &byte);
    name += static_cast<char>(value);
  }
  return name;
}

std::map<std::string, std::string> texts_from(const json& stored) {
  std::map<std::string, std::string> texts;
  for (auto& [name, text] : stored.items()) texts[name] = name_from(text);
  return texts;
}

RuledMetric ruled_from(const json& stored) { return {stored.at("metric"), stored.at("lower_wins")}; }

std::optional<BestValue> best_from(const json& stored) {
  if (stored.is_null()) return {};
  return BestValue{ruled_from(stored), stored.at("value")};
}

std::set<std::uint64_t> counts(const json& values) {
  std::set<std::uint64_t> all;
  for (auto& value : values) all.insert(count(value));
  return all;
}

Scalars scalars_from(const json& stored) {
  Scalars scalars;
  for (auto& scalar : stored)  // what is not finite was written as null
    scalars.emplace_back(scalar.at(0).get<std::string>(),
                         scalar.at(1).is_null() ? std::nan("") : scalar.at(1).get<double>());
  return scalars;
}

AwaitedValidation awaited_from(const json& stored) {
  AwaitedValidation awaited{count(stored.at("iteration"))};
  if (!stored.at("metrics").is_null()) awaited.scalars = scalars_from(stored.at("metrics"));
  awaited.training = scalars_from(stored.at("training"));
  return awaited;
}

PendingLine line_from(const json& stored) {
  return {count(stored.at("iterations")), stored.at("clipped"), scalars_from(stored.at("logged"))};
}

}  // namespace

RunState RunState::from_json(const std::string& text) try {
  const auto stored = json::parse(text, refuse_depth);
  RunState state;
  state.iteration = count(stored.at("iteration"));
  state.samples_per_epoch = count(stored.at("samples_per_epoch"));
  state.order = Xxh64::restore(stored.at("order_xxh64_state").get<std::string>());
  state.losses = stored.at("losses").get<std::deque<double>>();
  if (stored.contains("epoch_sums"))
    for (auto& [name, scalar] : stored.at("epoch_sums").items())
      state.epoch_sums[name] = {scalar.at("sum"), count(scalar.at("count"))};
  if (stored.contains("line")) state.line = line_from(stored.at("line"));
  for (auto& [link, ranking] : stored.at("best").items()) {
    Ranking& read = state.best[link] = {ruled_from(ranking), {}};
    for (auto& entry : ranking.at("entries")) read.entries.push_back({count(entry.at("iteration")), entry.at("value")});
  }
  state.validation_pending = stored.at("validation_pending");
  if (stored.contains("awaited") && !stored.at("awaited").is_null()) state.awaited = awaited_from(stored.at("awaited"));
  state.bad_samples = counts(stored.at("bad_samples"));
  for (auto& [name, set] : stored.at("validation").items())
    state.validation[name] = {count(set.at("batches")), counts(set.at("bad_samples"))};
  state.world = static_cast<int>(count(stored.at("world")));
  if (stored.contains("classes"))
    for (auto& name : stored.at("classes")) state.classes.push_back(name_from(name));
  if (stored.contains("fingerprints"))
    state.fingerprints = stored.at("fingerprints").get<std::map<std::string, std::string>>();
  state.elapsed_s = stored.at("elapsed_s");
  if (stored.contains("early_stop"))
    state.early_stop = {best_from(stored.at("early_stop").at("best")), count(stored.at("early_stop").at("since"))};
  if (stored.contains("schedules")) state.schedules = texts_from(stored.at("schedules"));
  if (stored.contains("hooks")) state.hooks = texts_from(stored.at("hooks"));
  state.nonfinite = count(stored.at("nonfinite"));
  state.nonfinite_in_a_row = count(stored.at("nonfinite_in_a_row"));
  if (stored.contains("skipped_in_a_row")) state.skipped_in_a_row = count(stored.at("skipped_in_a_row"));
  state.lr_scale = stored.at("lr_scale");
  state.rollback_limit = count(stored.at("rollback_limit"));
  if (stored.contains("rollback_targets"))
    for (auto& target : stored.at("rollback_targets")) state.rollback_targets.push_back(count(target));
  state.saved = stored.at("saved").get<std::vector<std::string>>();
  return state;
} catch (const json::exception& error) {
  constexpr std::size_t most = 300;  // of what may quote all that was read
  throw UserError(ExitCode::snapshot,
                  "state.json of the snapshot cannot be used: " + std::string(error.what()).substr(0, most));
}

}  // namespace flowtrain

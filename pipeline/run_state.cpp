#include "pipeline/run_state.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sampling/error.h"

namespace flowtrain {

using nlohmann::json;

bool RunState::has_saved(const std::string& part) const {
  return std::find(saved.begin(), saved.end(), part) != saved.end();
}

std::string RunState::to_json() const {
  const bool schedule = has_saved("schedule");
  json best_list = json::array();
  for (auto& entry : best) best_list.push_back({{"iteration", entry.iteration}, {"value", entry.value}});
  return json{{"iteration", iteration},
              {"samples_per_epoch", samples_per_epoch},
              {"order_xxh64_state", order.save()},
              {"order_xxh64", order.hex()},
              {"losses", losses},
              {"best", best_list},
              {"validation_batches", validation_batches},
              {"validation_pending", validation_pending},
              {"bad_samples", bad_samples},
              {"bad_validation_samples", bad_validation_samples},
              {"world", world},
              {"elapsed_s", elapsed_s},
              {"nonfinite", nonfinite},
              {"nonfinite_in_a_row", nonfinite_in_a_row},
              {"lr_scale", schedule ? lr_scale : 1.0},
              {"rollback_limit", schedule ? rollback_limit : no_limit},
              {"saved", saved}}
      .dump(2);
}

namespace {

/// A number that is whole and not negative; json's own conversions take others, too.
std::uint64_t count(const json& value) {
  if (!value.is_number_unsigned()) throw json::type_error::create(302, "not a count", &value);
  return value.get<std::uint64_t>();
}

std::set<std::uint64_t> counts(const json& values) {
  std::set<std::uint64_t> all;
  for (auto& value : values) all.insert(count(value));
  return all;
}

}  // namespace

RunState RunState::from_json(const std::string& text) try {
  const auto stored = json::parse(text);
  RunState state;
  state.iteration = count(stored.at("iteration"));
  state.samples_per_epoch = count(stored.at("samples_per_epoch"));
  state.order = Xxh64::restore(stored.at("order_xxh64_state").get<std::string>());
  state.losses = stored.at("losses").get<std::deque<double>>();
  for (auto& entry : stored.at("best")) state.best.push_back({count(entry.at("iteration")), entry.at("value")});
  state.validation_batches = count(stored.at("validation_batches"));
  state.validation_pending = stored.at("validation_pending");
  state.bad_samples = counts(stored.at("bad_samples"));
  state.bad_validation_samples = counts(stored.at("bad_validation_samples"));
  state.world = static_cast<int>(count(stored.at("world")));
  state.elapsed_s = stored.at("elapsed_s");
  state.nonfinite = count(stored.at("nonfinite"));
  state.nonfinite_in_a_row = count(stored.at("nonfinite_in_a_row"));
  state.lr_scale = stored.at("lr_scale");
  state.rollback_limit = count(stored.at("rollback_limit"));
  state.saved = stored.at("saved").get<std::vector<std::string>>();
  return state;
} catch (const json::exception& error) {
  throw UserError(Exit::snapshot, std::string("state.json of the snapshot cannot be used: ") + error.what());
}

}  // namespace flowtrain

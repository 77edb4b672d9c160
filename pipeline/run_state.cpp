#include "pipeline/run_state.h"

#include <nlohmann/json.hpp>

#include "sampling/error.h"

namespace flowtrain {

using nlohmann::json;

std::string RunState::to_json() const {
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
              {"elapsed_s", elapsed_s},
              {"nonfinite", nonfinite},
              {"nonfinite_in_a_row", nonfinite_in_a_row},
              {"lr_scale", lr_scale},
              {"rollback_limit", rollback_limit}}
      .dump(2);
}

RunState RunState::from_json(const std::string& text) try {
  const auto stored = json::parse(text);
  RunState state;
  state.iteration = stored.at("iteration");
  state.samples_per_epoch = stored.at("samples_per_epoch");
  state.order = Xxh64::restore(stored.at("order_xxh64_state").get<std::string>());
  state.losses = stored.at("losses").get<std::deque<double>>();
  for (auto& entry : stored.at("best")) state.best.push_back({entry.at("iteration"), entry.at("value")});
  state.validation_batches = stored.at("validation_batches");
  state.validation_pending = stored.at("validation_pending");
  state.bad_samples = stored.at("bad_samples").get<std::set<std::uint64_t>>();
  state.bad_validation_samples = stored.at("bad_validation_samples").get<std::set<std::uint64_t>>();
  state.elapsed_s = stored.at("elapsed_s");
  state.nonfinite = stored.at("nonfinite");
  state.nonfinite_in_a_row = stored.at("nonfinite_in_a_row");
  state.lr_scale = stored.at("lr_scale");
  state.rollback_limit = stored.at("rollback_limit");
  return state;
} catch (const json::exception& error) {
  throw UserError(Exit::snapshot, std::string("state.json of the snapshot cannot be used: ") + error.what());
}

}  // namespace flowtrain

#include "pipeline/exchange.h"

#include <nlohmann/json.hpp>

namespace flowtrain {

using nlohmann::json;

namespace {

// Stages are told apart by literals.
const char* stage_of(const std::string& name) { return name == "read" ? "read" : "sample"; }

}  // namespace

std::vector<BadSample> bad_samples_of_all(Group& group, const std::vector<BadSample>& mine) {
  if (group.size() == 1) return mine;
  json list = json::array();
  for (auto& bad : mine) list.push_back({bad.epoch, bad.position, bad.id, bad.substitute, bad.stage, bad.reason});
  std::vector<BadSample> all;
  // A reason may hold the bytes of a file's name, which need not be UTF-8.
  for (auto& text : group.gather(list.dump(-1, ' ', false, json::error_handler_t::replace)))
    for (auto& bad : json::parse(text))
      all.push_back({bad[0], bad[1], bad[2], bad[3], stage_of(bad[4]), bad[5]});
  return all;
}

}  // namespace flowtrain

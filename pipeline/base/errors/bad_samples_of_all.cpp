#include "pipeline/base/errors/bad_samples_of_all.h"

#include <nlohmann/json.hpp>

#include "pipeline/base/telemetry/json_text.h"

namespace flowtrain {

using nlohmann::json;

std::vector<BadSample> bad_samples_of_all(Group& group, const std::vector<BadSample>& mine) {
  if (group.size() == 1) return mine;
  json list = json::array();
  for (auto& bad : mine) list.push_back({bad.epoch, bad.position, bad.id, bad.substitute, bad.stage, bad.reason});
  std::vector<BadSample> all;
  // A reason may hold the bytes of a file's name, which need not be UTF-8.
  for (auto& text : group.gather("the bad samples of all ranks", json_text(list)))
    for (auto& bad : json::parse(text))
      all.push_back({bad[0], bad[1], bad[2], bad[3], bad[4] == "read" ? "read" : "sample", bad[5]});
  return all;
}

}  // namespace flowtrain

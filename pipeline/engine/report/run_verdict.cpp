#include "pipeline/engine/report/run_verdict.h"

#include <nlohmann/json.hpp>

#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/engine/verdict/sentence.h"
#include "sampling/core/text.h"

namespace flowtrain {

RunVerdict run_verdict(const PipelineLoad& own, Group& group) {
  const Verdict verdict = judge(own);
  RunVerdict result{sentence(verdict, own), verdict_fields(verdict)};
  if (group.size() == 1) return result;
  const JsonObject mine{
      {"own_s", own.wall_s - own.exchange_s}, {"text", result.text}, {"fields", ordered_json(result.fields)}};
  double most_s = -1;
  int rank = 0;
  for (auto& each : group.gather("the verdicts of all ranks", json_text(ordered_json(mine)))) {
    const auto theirs = ordered_json::parse(each);
    if (const double own_s = theirs["own_s"]; own_s > most_s) {
      most_s = own_s;
      const std::string text = theirs["text"];
      result = {text.empty() ? "" : concat("rank ", rank, ", the slowest: ", text),
                theirs["fields"].get_ref<const JsonObject&>()};
      result.fields["rank"] = rank;
    }
    ++rank;
  }
  return result;
}

}  // namespace flowtrain

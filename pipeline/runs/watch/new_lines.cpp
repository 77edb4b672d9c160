#include "pipeline/runs/watch/new_lines.h"

#include <algorithm>

#include "pipeline/base/telemetry/json_file.h"

namespace flowtrain::watch {

void NewLines::restart() {
  known_to_ = reached_;
  awaited_ = resumes_;
}

bool NewLines::takes(const nlohmann::ordered_json& line) {
  const auto iteration = number_in<std::uint64_t>(line, "iter").value_or(0);
  if (text_in(line, "kind") == "resume") {
    if (const auto known = awaited_.find(iteration); known_to_ && known != awaited_.end()) {
      awaited_.erase(known);
      return false;
    }
    known_to_.reset();
    resumes_.insert(iteration);
    return true;
  }
  if (known_to_ && iteration <= *known_to_) return false;
  reached_ = std::max(reached_, iteration);
  return true;
}

}  // namespace flowtrain::watch

#pragma once
// The output of `flowtrain postmortem`.

#include <string>
#include <vector>

#include "pipeline/runs/postmortem/flight_log.h"

namespace flowtrain {

/// Returns a sentence, then tables: the ranks, their threads and queues, and what filled the last `seconds_s` seconds.
/// `logs`: see diagnose().
std::string postmortem_text(const std::vector<FlightLog>& logs, double seconds_s);

/// Formats JSON with every record of the last `seconds_s` seconds.
std::string postmortem_json(const std::vector<FlightLog>& logs, double seconds_s);

}  // namespace flowtrain

#include "pipeline/report/advice.h"

#include <algorithm>

#include "pipeline/telemetry/format.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

std::string percent(double share, int digits) { return printed("%.*f %%", digits, 100 * share); }

}  // namespace

double busy(double stage_s, unsigned threads, double wall_s) { return wall_s > 0 ? stage_s / (threads * wall_s) : 0; }

std::string waiting_advice(const LoaderLoad& load) {
  const double wait = load.wall_s > 0 ? load.wait_s / load.wall_s : 0;
  std::string text = "the net waited for data " + percent(wait, wait < 0.1 ? 2 : 1) + " of the time";
  if (wait < 0.01) return text;
  const double read = busy(load.times.read_s, load.readers, load.wall_s);
  const double sample = busy(load.times.sample_s, load.workers, load.wall_s);
  const double transfer = busy(load.times.transfer_s, 1, load.wall_s);
  if (read >= std::max(sample, transfer))
    return concat(text, ", for `read` (", load.readers, " readers, ", percent(read, 0),
                  " busy): raise loader.readers, or keep the data on a faster disk");
  if (transfer > sample)
    return text + ", for `transfer` (" + percent(transfer, 0) + " busy): smaller pictures, or a larger batch";
  text += concat(", for `sample` (", load.workers, " workers, ", percent(sample, 0), " busy): ");
  if (sample < 0.5) return text + "short run, or batches come in bursts; raise loader.prefetch";
  if (load.workers < load.cores) return concat(text, "raise loader.workers (there are ", load.cores, " cores)");
  return text + "all cores are at work; cheaper augmentation or smaller stored pictures would help";
}

}  // namespace flowtrain

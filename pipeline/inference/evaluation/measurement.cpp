#include "pipeline/inference/evaluation/measurement.h"

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <memory>
#include <set>

#include "pipeline/base/errors/agree_on_error.h"
#include "pipeline/base/errors/bad_samples_of_all.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/session/bad_sample_log.h"
#include "pipeline/engine/validation/packing.h"
#include "pipeline/engine/validation/patient_detector.h"
#include "pipeline/engine/validation/samples.h"
#include "sampling/samplers/keys.h"
#include "stages/evaluation/metric_names.h"

namespace flowtrain {

namespace {

struct BatchLoss {
  std::uint64_t position;  // the position of its first row
  std::uint64_t which;     // the loss, if there are several
  LossSum loss;
};

// The results that this process has measured.
struct RankShare {
  std::string kind = "samples";
  std::vector<SampleOutcome> samples;
  std::vector<std::optional<Transcript>> transcripts;  // one for each sample
  std::vector<BatchLoss> losses;
  std::vector<BadSample> bad;
};

void add_rows(const Slab& slab, const RowResults& results, RankShare& share) {
  const auto rows = slab.rows();
  share.kind = results.kind;
  for (std::size_t i = 0; i < results.losses.size(); ++i)
    share.losses.push_back({rows.front().position, i, results.losses[i]});
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const RowResult& result = results.rows[row];
    share.samples.push_back({rows[row].position, rows[row].id, rows[row].replaced > 0, label_of(slab, row),
                             result.prediction, result.score, result.loss, result.counted, result.right});
    share.transcripts.push_back(result.transcript);
  }
}

void add_batch(Loader& loader, Learner& learner, RankShare& share) {
  Ticket ticket;
  if (!loader.next(ticket)) throw InternalError("the loader of a test ended");
  Slab& slab = loader.slab(ticket);
  if (ticket.kind == TicketKind::bad) std::rethrow_exception(slab.error());
  share.bad.insert(share.bad.end(), slab.bad().begin(), slab.bad().end());
  const RowResults results = dynamic_cast<RowValidator&>(learner).validate_rows(slab, {});
  add_rows(slab, results, share);
  loader.release(ticket);
}

// Measures the batches of this rank. Ranks meet after each batch, so that none waits longer for another than a
// collective may. If one fails, all throw. A collective.
void go_through(Group& group, Loader* loader, Learner& learner, std::uint64_t batches, RankShare& share) {
  std::exception_ptr error;
  for (std::uint64_t batch = 0;; ++batch) {
    try {
      if (batch < batches) add_batch(*loader, learner, share);
    } catch (...) {
      error = std::current_exception();
    }
    std::array<double, 2> next_and_failed{batch + 1 < batches ? 1.0 : 0.0, error ? 1.0 : 0.0};
    group.sum("the batches of a test", next_and_failed);
    if (next_and_failed[0] == 0 || next_and_failed[1] > 0) break;
  }
  together(group, "the samples of a test", [&] {
    if (error) std::rethrow_exception(error);
  });
}

template <class Item>
std::vector<Item> gathered(Group& group, const char* what, const std::vector<Item>& mine) {
  if (group.size() == 1) return mine;
  std::string bytes;
  put_all(bytes, mine);
  std::vector<Item> all;
  for (const std::string& text : group.gather(what, bytes)) {
    std::string_view left = text;
    const auto theirs = take_all<Item>(left);
    all.insert(all.end(), theirs.begin(), theirs.end());
  }
  return all;
}

// Returns the transcripts of all processes, one for each of all `samples`, or none.
std::vector<std::optional<Transcript>> gathered_transcripts(Group& group, const RankShare& share,
                                                            const std::vector<SampleOutcome>& samples) {
  std::string bytes;
  for (std::size_t i = 0; i < share.transcripts.size(); ++i) {
    if (!share.transcripts[i]) continue;
    put(bytes, share.samples[i].position);
    put_transcript(bytes, *share.transcripts[i]);
  }
  std::map<std::uint64_t, Transcript> by_position;
  for (const std::string& text : group.gather("the texts of samples", bytes))
    for (std::string_view left = text; !left.empty();) {
      const auto position = take<std::uint64_t>(left);
      by_position[position] = take_transcript(left);
    }
  if (by_position.empty()) return {};
  std::vector<std::optional<Transcript>> all(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i)
    if (const auto found = by_position.find(samples[i].position); found != by_position.end())
      all[i] = std::move(found->second);
  return all;
}

// Returns the mean loss, summed in the set's order: partial sums would round differently for each number of processes.
double mean_loss(std::vector<BatchLoss> losses) {
  std::ranges::sort(losses, {}, &BatchLoss::position);
  std::vector<LossSum> sums;
  for (const auto& [position, which, loss] : losses) {
    if (sums.size() <= which) sums.resize(which + 1);
    sums[which].sum += loss.sum;
    sums[which].count += loss.count;
  }
  return sum_of_means(sums);
}

// Returns the kind of results that the ranks have; a rank without samples does not know it.
std::string kind_of(Group& group, const RankShare& share) {
  for (auto& kind : group.gather("the kind of a net", share.losses.empty() ? "" : share.kind))
    if (!kind.empty()) return kind;
  return share.kind;
}

BadSamples bad_samples(const ValidationData& set, bool finds_objects, const Group& group) {
  const Dataset& dataset = *set.data.dataset;
  // A detector's check of the data reports the records that cannot be read.
  if (finds_objects) return {dataset, {"val", dataset.size()}, [](auto&) {}};
  return make_bad_sample_log(set.config, false, dataset, nullptr, group.leads());
}

Scalars detect_everywhere(const Dataset& dataset, Detector& detector, Group& group, Measurement& measured) {
  DetectionMetrics metrics{dataset, detection_metric_names(), measured.decoding};
  PatientDetector patient(detector);
  metrics.on_image = [&](const DetectedImage& detected) {
    if (!detected.damage.empty())
      log_warn(concat(dataset.describe(detected.image_result.record), ": ", detected.damage));
  };
  metrics.on_measured = [&measured](const Measured& all) {
    measured.objects =
        DetectionOutcome{all.truth, all.found, {all.image_results.begin(), all.image_results.end()}, all.coco};
  };
  std::set<std::uint64_t> all;
  for (std::uint64_t id = 0; id < dataset.size(); ++id) all.insert(all.end(), id);
  // Keeps this rank in step with those in go_through(), which meet after each picture.
  const auto meet = [&group] {
    double nothing = 0;
    group.sum("the pictures of a test", {&nothing, 1});
    return true;
  };
  return *measure_detection(metrics, patient, all, group, meet);
}

// Measures this rank's part of the set, then collects the parts of all ranks.
void measure_samples(const Session& session, const ValidationData& set, Learner& learner, Measurement& measured) {
  Group& group = *session.options().group;
  const std::uint64_t batches = set.data.batches.per_epoch();
  RankShare share;
  std::unique_ptr<Loader> loader;
  together(group, "the loader of a test", [&] {
    if (batches == 0) return;
    loader = session.make_loader(loader_parts(set.label(), set.data, set.config, 1, batches));
    loader->start();
  });
  go_through(group, loader.get(), learner, batches, share);
  if (loader) loader->stop();
  BadSamples bad = bad_samples(set, learner.detector() != nullptr, group);
  bad.account(bad_samples_of_all(group, share.bad), 0);
  measured.kind = kind_of(group, share);
  measured.samples = gathered(group, "the results of samples", share.samples);
  std::ranges::sort(measured.samples, {}, &SampleOutcome::position);
  measured.transcripts = gathered_transcripts(group, share, measured.samples);
  measured.scalars.emplace_back("loss", mean_loss(gathered(group, "the losses of batches", share.losses)));
}

}  // namespace

Measurement measure(const Session& session, const ValidationData& set, Learner& learner) {
  Group& group = *session.options().group;
  const Dataset& dataset = *set.data.dataset;
  Measurement measured{.size = dataset.size(), .decoding = decoding_of(set.config.table("sampler"))};
  learner.begin_validation();
  try {
    Detector* const detector = learner.detector();
    const bool has_loss = !detector || dataset.has_boxes();
    Scalars of_boxes;
    if (has_loss) measure_samples(session, set, learner, measured);
    if (detector) {
      of_boxes = detect_everywhere(dataset, *detector, group, measured);
      measured.kind = "detect";
    }
    if (has_loss) {
      const Scalars all = learner.end_validation();
      measured.scalars.insert(measured.scalars.end(), all.begin() + 1, all.end());  // `loss` has it already, exactly
    } else {
      learner.leave_validation();
    }
    measured.scalars.insert(measured.scalars.end(), of_boxes.begin(), of_boxes.end());
  } catch (...) {
    learner.leave_validation();
    throw;
  }
  if (const auto* confusion = learner.confusion()) measured.confusion = *confusion;
  if (!group.leads()) measured.samples.clear(), measured.transcripts.clear();
  return measured;
}

}  // namespace flowtrain

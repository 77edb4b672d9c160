#pragma once
// Measures a net on a whole set, sample by sample.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/engine/session/session.h"
#include "sampling/codecs/image.h"
#include "stages/evaluation/class_table.h"
#include "stages/evaluation/coco_eval.h"
#include "stages/evaluation/ground_truth.h"
#include "stages/model/compute.h"
#include "stages/model/row_results.h"

namespace flowtrain {

/// The results of one sample, as far as the net, the loss and the set provide them.
struct SampleOutcome {
  std::uint64_t position = 0;        ///< the position in the set's order
  std::uint64_t id = 0;              ///< the record's id
  bool substitute = false;           ///< stands for a bad sample, so this record counts twice
  std::int64_t label = -1;           ///< the class; -1: none
  std::int64_t prediction = -1;      ///< the predicted class
  double score = RowResult::none;    ///< probability of the prediction by softmax, 0 … 1
  double loss = RowResult::none;     ///< cross-entropy
  double counted = RowResult::none;  ///< pixels or tokens with a label, for nets that classify these
  double right = RowResult::none;    ///< correctly classified ones among them
};

/// The objects that a detector found in all pictures.
struct DetectionOutcome {
  GroundTruth truth;
  std::vector<FoundObject> found;
  std::vector<ImageResult> image_results;  ///< by record; in the order of truth.images
  CocoEvaluation coco;
};

/// The results of a whole set.
struct Measurement {
  std::string kind = "samples";              ///< RowResults::kind, or "detect"
  std::uint64_t size = 0;                    ///< samples of the set
  Decoding decoding = {};                    ///< decodes its pictures
  Scalars scalars = {};                      ///< the loss first; for a detector, COCO's twelve and VOC's last
  std::optional<ClassTable> confusion = {};  ///< the confusion matrix, if val.metrics asks for it
  std::vector<SampleOutcome> samples = {};   ///< rank 0's, by position
  /// One for each of `samples`, of those that have texts; empty if none has.
  std::vector<std::optional<Transcript>> transcripts = {};
  std::optional<DetectionOutcome> objects = {};  ///< rank 0's, if the net is a detector
};

/// Measures the learner's net on all of `set`, one of the session's. The processes take whole batches in turn
/// (SessionOptions::whole_batches), and rank 0 puts all together in the set's order, so that results do not depend on
/// their number. A damaged sample is replaced as in a validation, and too many end it; in a picture that a detector
/// cannot read nothing is found, however many there are. Of pictures that nobody annotated a detector has no loss. A
/// collective. Throws UserError, alike on all ranks.
Measurement measure(const Session& session, const ValidationData& set, Learner& learner);

}  // namespace flowtrain

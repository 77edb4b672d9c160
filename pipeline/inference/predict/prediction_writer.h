#pragma once
// Writes predictions for people and programs.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/base/telemetry/json_lines.h"
#include "pipeline/inference/predict/output_file.h"
#include "pipeline/inference/predict/prediction.h"

namespace flowtrain {

class PredictionWriter {
 public:
  virtual ~PredictionWriter() = default;
  /// Writes a prediction. It is called for each input once, in their order, also for damaged ones.
  virtual void write(const Prediction& prediction) = 0;
};

/// The format that all writers share. `classes` outlive them.
struct PredictionFormat {
  const std::vector<std::string>& classes;  ///< names, in label order
  bool detects = false;                     ///< whether there are boxes instead of classes
  bool writes = false;                      ///< whether there are texts instead of classes
  bool tokens = false;                      ///< whether there are classes of tokens instead
  bool logits = false;                      ///< JSON only: write all logits, too
};

/// A line for each picture on standard output: the classes with their probabilities, the text that the net wrote, how
/// many objects of each class were found, or a text with its perplexity and the classes of its tokens. Names are padded
/// to `name_width`. Damaged inputs have no line.
std::unique_ptr<PredictionWriter> make_table_writer(const PredictionFormat& format, std::size_t name_width);

/// CSV with a header line (RFC 4180). Of a classifier "file,rank,class,label,score,error", a line for each class
/// that is told; of a detector "file,class,label,score,x1,y1,x2,y2,error", a line for each box, in pixels of the
/// picture, and for a picture without boxes one with `file` alone; of a net that writes texts "file,text,error"; of
/// classes of tokens "file,place,text,class,label,score,probability,error", a line for each token, with its place from
/// 1. A damaged input has one line with `file` and `error`.
std::unique_ptr<PredictionWriter> make_csv_writer(const PredictionFormat& format, const std::string& path);

/// A line of to_json() for each input.
std::unique_ptr<PredictionWriter> make_json_writer(const PredictionFormat& format, const std::string& path);

/// {"file": …} and "text" of a net that writes texts; of a classifier "top": [{"class", "label", "score"} …] and
/// "logits": [numbers that read back to the same f32]; of a detector "boxes": [{"class", "label", "score", "x1", "y1",
/// "x2", "y2"} …] in pixels of the picture, and "picture": the file that shows them; of classes of tokens "shown",
/// "perplexity" and "tokens": [{"text", "class", "label", "score", "probability"} …]; "input", the fields of a record
/// as texts; of a damaged input "error": why.
JsonObject to_json(const Prediction& prediction, const PredictionFormat& format);

/// Returns the name of a class, or its number if it has no name.
std::string class_name(const std::vector<std::string>& classes, std::int64_t label);

/// A text for a terminal: control characters, which could command it, become '?'.
std::string printable(std::string text);

}  // namespace flowtrain

#pragma once
// The prediction of a net for one picture.

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sampling/codecs/image.h"
#include "sampling/shown.h"
#include "stages/detection/detector.h"

namespace flowtrain {

/// A class and its score, the softmax probability, 0 … 1.
struct ClassScore {
  std::int64_t label;
  double score;
};

/// Returns the classes with the greatest logits, `count` at most, the greatest and lower labels first.
std::vector<ClassScore> best_classes(std::span<const float> logits, std::size_t count);

/// The prediction for one token, or for the word that begins with it.
struct TokenPrediction {
  std::string text;         ///< the word; of a model of language the token that is in the text
  std::string name;         ///< the class, or the token that the net expects
  std::int64_t label = -1;  ///< number of that class or token
  double score = 0;         ///< softmax probability of it, 0 … 1
  double probability =
      std::numeric_limits<double>::quiet_NaN();  ///< probability of the token in the text, if there is one
};

/// The prediction for one input. Its views last as long as the call that gets it.
struct Prediction {
  std::string name;                          ///< Input::name
  std::string damage = {};                   ///< the reason why there is no prediction; empty: there is one
  std::vector<ClassScore> top = {};          ///< a classifier's classes with the greatest scores, best first
  std::span<const float> logits = {};        ///< a classifier's logits, all of them
  std::optional<std::string> text = {};      ///< the text of a net with a decoder
  std::vector<TokenPrediction> tokens = {};  ///< classes of words or tokens, in their order
  std::string shown = {};                    ///< all classes as one line of text
  /// The exponential of the mean loss of a text's tokens; NaN if the net does not predict a text.
  double perplexity = std::numeric_limits<double>::quiet_NaN();
  std::vector<Detection> found = {};   ///< a detector's objects, in pixels of the picture, best first
  const Image* bgr = nullptr;          ///< the picture that a detector saw, blue first
  std::vector<ShownField> input = {};  ///< fields that a classifier got
  std::string picture = {};            ///< the file with the boxes drawn or the input's picture, where there is one
};

}  // namespace flowtrain

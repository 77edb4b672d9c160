#pragma once
// Nets that continue texts. This file needs no torch; the LibTorch part is in stages/torch/validation/.

#include <cstdint>
#include <span>

namespace flowtrain {

/// A net that continues texts, token by token, in eval mode and without draws. One thread at a time.
class TextModel {
 public:
  virtual ~TextModel() = default;
  /// Returns the number of ids.
  virtual std::int64_t vocabulary() const = 0;
  /// Returns the greatest number of tokens of a text; 0: any.
  virtual std::int64_t length() const = 0;
  /// Begins `rows` texts of equal lengths, without tokens, in place of those under way.
  virtual void begin_texts(std::int64_t rows) = 0;
  /// Appends tokens (rows, T), row by row, T from 1 on, and returns the logits (rows, vocabulary) of what follows the
  /// last one; the view is valid until the next call. A text gets no longer than length().
  virtual std::span<const float> continue_texts(std::span<const std::int64_t> tokens) = 0;
  /// Forgets the texts under way, and frees their memory.
  virtual void end_texts() = 0;
};

/// A Validator (stages/model/validator.h) may be one of these, too.
class TextValidator {
 public:
  virtual ~TextValidator() = default;
  /// Returns the net that is validated, for use between begin_validation() and end_validation(); null if the net cannot
  /// continue texts.
  virtual TextModel* text_model() = 0;
};

}  // namespace flowtrain

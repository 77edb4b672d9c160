#pragma once
// The interface of nets that continue texts.

#include <cstdint>
#include <memory>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// Holds what a net remembers of texts under way: the keys and values of attention, or the tokens themselves.
class TextMemory {
 public:
  virtual ~TextMemory() = default;
};

/// A net that continues texts, token by token; a Net that can do so derives from this, too. One thread at a time.
class TextNet {
 public:
  virtual ~TextNet() = default;
  /// Returns the number of ids.
  virtual std::int64_t vocabulary() const = 0;
  /// Returns the greatest number of tokens of a text; 0: any.
  virtual std::int64_t length() const = 0;
  /// Begins `rows` texts of equal lengths, without tokens.
  virtual std::unique_ptr<TextMemory> begin_texts(std::int64_t rows) = 0;
  /// Appends tokens (rows, T) i64, T from 1 on, to the texts, and returns the logits (rows, vocabulary) f32 of what
  /// follows the last one; in eval mode, without gradients. Throws std::invalid_argument if a text gets longer than
  /// length().
  virtual at::Tensor continue_texts(TextMemory& memory, const at::Tensor& tokens) = 0;
};

}  // namespace flowtrain::nets

#pragma once
// What a learner's search for numbers that are not finite is made of.

#include <functional>
#include <optional>
#include <string>

#include "nets/diagnostics/op_watch.h"
#include "nets/tensors.h"
#include "stages/nonfinite_origin.h"

namespace flowtrain {

/// The first of `tensors` that is not finite, as origin of the kind `phase`; its rows where they are those of a batch
/// of `rows` (0: none is).
std::optional<NonFiniteOrigin> find_in(const nets::NamedTensors& tensors, const std::string& phase, std::int64_t rows);

/// An operation as origin. Where what it made has `rows` rows, and is no parameter's gradient, those that are not
/// finite are to blame.
NonFiniteOrigin origin_of(const nets::NonFiniteOp& op, const nets::NamedTensors& parameters, std::int64_t rows);

/// Copies that outlive the slab.
nets::NamedTensors copies(const nets::NamedTensors& batch);

/// Where an operation does not tell a part of `rows` rows: gives `fails` each row of the batch alone, as a batch of
/// one, and blames those for which it is true.
void blame_rows(const nets::NamedTensors& batch, std::int64_t rows,
                const std::function<bool(const nets::NamedTensors&)>& fails, NonFiniteOrigin& origin);

}  // namespace flowtrain

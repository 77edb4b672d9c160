#pragma once
// The things that a key of the configuration decides. Resumes, `flowtrain verify`, `flowtrain test` and loaders use it.

#include <string>

namespace flowtrain {

/// The things that change with the value of a key, combined by |, and who may change it all the same.
enum class Decides : unsigned {
  nothing = 0,
  order = 1 << 0,       ///< the samples, their order, and how they make batches
  rows = 1 << 1,        ///< the rows that the sampler makes of samples
  training = 1 << 2,    ///< the parameters, if the batches are equal
  validation = 1 << 3,  ///< the results of a validation
  tests = 1 << 4,       ///< the results of `flowtrain test`
  // A key that decides order, rows or training must be the same after a resume and in all processes, unless:
  joint = 1 << 5,  ///< A resume may change it, but all processes must have the same value.
  own = 1 << 6,    ///< A resume may change it, and each process may have a value of its own.
  no_stream =
      1 << 7,      ///< A loader's stream of samples continues with another value, although it decides order or rows.
  start = 1 << 8,  ///< It says how a start resumes, so it is no part of the run and never compared.
};

constexpr Decides operator|(Decides a, Decides b) {
  return static_cast<Decides>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

/// Returns whether `decides` has one of the members of `any`.
constexpr bool has(Decides decides, Decides any) {
  return (static_cast<unsigned>(decides) & static_cast<unsigned>(any)) != 0;
}

/// Returns what the line of a key says, by the key's dotted name, in which entries of lists may have their numbers:
/// "optim.0.lr". For a key of a part, the table that names the part says it.
Decides decided_by(const std::string& key);

/// Returns whether a run that continues with another value gives something else than it would have given.
constexpr bool breaks_resume(Decides decides) {
  using enum Decides;
  return has(decides, order | rows | training) && !has(decides, joint | own | start);
}

}  // namespace flowtrain

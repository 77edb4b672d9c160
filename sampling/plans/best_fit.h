#pragma once
// Packs pieces into rows of a fixed length, all pieces of one length at a time.

#include <cstdint>
#include <span>
#include <vector>

namespace flowtrain {

/// Pieces that take as many positions each.
struct PieceClass {
  std::uint32_t length;  ///< > 0
  std::uint64_t pieces;  ///< > 0
};

/// Rows that hold as many pieces of each class.
struct RowTemplate {
  struct Part {
    std::uint32_t of;     ///< index of the class
    std::uint32_t count;  ///< pieces of it in each row
    std::uint64_t
        first;  ///< piece of the class with which the first row begins; the rows take theirs one after another
  };
  std::uint64_t first_row, rows;
  std::vector<Part> parts;  ///< in the order of the classes
};

/// Places each piece in the fullest row that has room for it, the longest first: best-fit decreasing (D. S. Johnson et
/// al., "Worst-Case Performance Bounds for Simple One-Dimensional Packing Algorithms", 1974), over a histogram as in H.
/// Ding et al., "Fewer Truncations Improve Language Modeling", ICML 2024. Classes are given with falling lengths, none
/// above `row_length`. Rows that are alike stay one template, of which there are at most two a class; time grows with
/// the templates, not with the pieces. The fullest rows come first.
std::vector<RowTemplate> best_fit_decreasing(std::span<const PieceClass> classes, std::uint32_t row_length);

}  // namespace flowtrain

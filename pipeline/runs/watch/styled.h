#pragma once
// Rows of text with styles, cut to the width of a terminal.

#include <string>
#include <string_view>
#include <vector>

namespace flowtrain::watch {

enum class Style { plain, bold, dim, accent, second, good, bad };

/// A row of a terminal. Control characters of a text become spaces, so that no file can send commands to the terminal.
class Row {
 public:
  Row() = default;
  explicit Row(std::string_view text, Style style = Style::plain) { add(text, style); }

  Row& add(std::string_view text, Style style = Style::plain);
  /// Columns that it takes.
  int width() const { return width_; }
  /// Cuts what is beyond so many columns.
  void cut(int columns);
  /// With escape sequences for its styles, or without.
  std::string text(bool with_colour) const;

 private:
  struct Span {
    std::string text;
    Style style;
  };
  std::vector<Span> spans_;
  int width_ = 0;
};

/// Columns of a terminal that a text of UTF-8 takes.
int width_of(std::string_view text);

}  // namespace flowtrain::watch

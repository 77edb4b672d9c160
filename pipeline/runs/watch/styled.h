#pragma once
// Formats rows of text with styles, cut to the width of a terminal.

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
  /// Returns the number of columns that it takes.
  int width() const { return width_; }
  /// Cuts the row to so many columns.
  void cut(int columns);
  /// Returns the text, with escape sequences for its styles or without.
  std::string text(bool with_colour) const;

 private:
  struct Span {
    std::string text;
    Style style;
  };
  std::vector<Span> spans_;
  int width_ = 0;
};

/// Returns the columns of a terminal that a UTF-8 text takes.
int width_of(std::string_view text);

}  // namespace flowtrain::watch

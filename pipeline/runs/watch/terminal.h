#pragma once
// The whole terminal, as a screen of rows.

#include <termios.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/runs/watch/screen.h"

namespace flowtrain::watch {

/// Whether standard output is a terminal that can move its cursor.
bool has_screen();
/// Returns the size of the terminal at standard output; without one, COLUMNS and LINES of the environment, or 80 × 24.
ScreenSize screen_size();
/// Whether colours are welcome (NO_COLOR, https://no-color.org).
bool wants_colour();

/// Takes the terminal: the other screen buffer, no cursor, keys without Enter. Gives it back when destroyed, and also
/// where a signal or a fault ends the process, or stops it for a while (Ctrl-Z). One object at a time.
class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Shows the rows; all of the screen is written over, in one write().
  void show(const std::vector<Row>& rows);
  /// The next key (a letter, '\t', key_left or key_right); nothing where none came within the time, the size of the
  /// terminal changed, or the process went on after Ctrl-Z. 'q' where the terminal has gone.
  std::optional<int> read_key(std::chrono::milliseconds wait);

 private:
  std::string unread_;
};

}  // namespace flowtrain::watch

#pragma once
// Shows rows on the whole terminal.

#include <termios.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/runs/watch/screen.h"

namespace flowtrain::watch {

/// Returns whether standard output is a terminal that can move its cursor.
bool has_screen();
/// Returns the size of the terminal at standard output; without one, COLUMNS and LINES of the environment, or 80 × 24.
ScreenSize screen_size();
/// Returns whether colours are wanted (NO_COLOR, https://no-color.org).
bool wants_colour();

/// Takes the terminal: the other screen buffer, no cursor, keys without Enter. Gives it back when destroyed, and also
/// where a signal or a fault ends the process, or stops it for a while (Ctrl-Z). One object at a time.
class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Shows the rows. The whole screen is overwritten in one write().
  void show(const std::vector<Row>& rows);
  /// Returns the next key (a letter, '\t', key_left or key_right); nothing if none came within the time, the size of
  /// the terminal changed, or the process continued after Ctrl-Z. Returns 'q' if the terminal is gone.
  std::optional<int> read_key(std::chrono::milliseconds wait);

 private:
  std::string unread_;
};

}  // namespace flowtrain::watch

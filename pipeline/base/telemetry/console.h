#pragma once
// Prints to standard error: lines, and below them one status line (the progress bar) that is redrawn in place. All
// output passes through one mutex, so that lines and the bar never tear each other. Any thread.

#include <functional>
#include <string>
#include <string_view>

namespace flowtrain::console {

/// Returns true if standard error is a terminal that can move its cursor (TERM is set, and not to "dumb").
bool is_terminal();
/// Returns true if colours are welcome: a terminal, and NO_COLOR (https://no-color.org) not set.
bool has_colour();
/// Returns the columns of the terminal, queried each time; 80 if there is none or it does not say.
int columns();

/// Prints `text` and a newline, above the status line if there is one, in a single write().
void print_line(std::string_view text);

/// Draws the status line for a width; the result must be shorter than `columns` and hold no newline.
using Status = std::function<std::string(int columns)>;
/// Shows a status line, or replaces the one shown. `draw` is called again whenever the line has to be redrawn.
void show_status(Status draw);
/// Leaves the status line as it was last drawn, as an ordinary line. It does nothing if there is none.
void end_status();

/// Removes a status line from a terminal's screen without taking the mutex: for a process about to end.
void erase_status_unlocked();

}  // namespace flowtrain::console

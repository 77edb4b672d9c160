#pragma once
// Standard error as a person sees it: lines, and below them one status line (the progress bar) that is redrawn in
// place. Everything passes through one mutex, so that lines and the bar never tear each other. Any thread.

#include <functional>
#include <string>
#include <string_view>

namespace flowtrain::console {

/// True if standard error is a terminal that can move its cursor (TERM is set, and not to "dumb").
bool is_terminal();
/// True if colours are welcome: a terminal, and NO_COLOR (https://no-color.org) not set.
bool has_colour();
/// Columns of the terminal, asked anew each time; 80 where there is none or it does not say.
int columns();

/// Prints `text` and a newline, above the status line if there is one, in a single write().
void print_line(std::string_view text);

/// Draws the status line for a width; the result must be shorter than `columns` and hold no newline.
using Status = std::function<std::string(int columns)>;
/// Shows a status line, or replaces the one shown. `draw` is called again whenever the line has to be redrawn.
void show_status(Status draw);
/// Leaves the status line as it was last drawn, as an ordinary line. Does nothing where none is shown.
void end_status();

/// Removes a status line from a terminal's screen without taking the mutex: for a process about to end.
void erase_status_unlocked();

}  // namespace flowtrain::console

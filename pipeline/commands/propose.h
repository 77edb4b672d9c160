#pragma once
// The words that commands propose to a shell that completes a command line (completion.cpp).

#include <string>
#include <string_view>

namespace flowtrain::commands {

/// Stands before the word that the shell completes. In place of parsing, parse() (flags.h) then proposes the options
/// and subcommands that begin with the word. Nobody types it as an argument.
inline constexpr std::string_view completion_mark = "\tcomplete\t";

/// Prints `word` and the first line of its help, if the word begins with `begin`.
void propose(const std::string& word, const std::string& help, const std::string& begin);

}  // namespace flowtrain::commands

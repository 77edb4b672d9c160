#pragma once
// From what was written to a checked configuration: which keys there are depends on the choices made.

#include <string>

#include "pipeline/base/config/config.h"
#include "pipeline/base/config/document.h"

namespace flowtrain {

/// `default_name` is the run's name where none was written. Throws UserError(usage) for whatever does not hold.
Config resolve(Document document, const std::string& default_name);

}  // namespace flowtrain

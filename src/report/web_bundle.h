// The page's style sheet and script, built from src/web by script/bundle, kept in share/web and put into the program.
#pragma once

#include <string_view>

namespace assay::report {

std::string_view WebScript();
std::string_view WebStyle();

/// "sha256-...": by which a content security policy lets the script and the style sheet stand in a page.
std::string_view WebScriptHash();
std::string_view WebStyleHash();

}  // namespace assay::report

// The style sheet and the script of the report, kept in assets/ and put into the program by the build.
#pragma once

#include <string_view>

namespace assay::report {

std::string_view ReportStyle();
std::string_view ReportScript();

}  // namespace assay::report

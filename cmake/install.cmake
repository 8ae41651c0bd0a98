# Installs what a host needs to embed the store: include/hourglass, the static
# libraries, and a package for
#
#   find_package(Hourglass REQUIRED)
#   target_link_libraries(app PRIVATE Hourglass::hourglass)
#
# and the `hourglass` program. Only include/hourglass is public.
include(CMakePackageConfigHelpers)

# The one name a host links; which libraries stand behind it is ours to change.
add_library(hg_hourglass INTERFACE)
add_library(Hourglass::hourglass ALIAS hg_hourglass)
set_target_properties(hg_hourglass PROPERTIES EXPORT_NAME hourglass)
target_link_libraries(hg_hourglass INTERFACE hg_broker)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Hourglass)
install(TARGETS hg_storage hg_timers hg_wheel hg_recovery hg_broker hg_hourglass
  EXPORT HourglassTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY include/hourglass DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT development
  FILES_MATCHING PATTERN "*.h")
install(EXPORT HourglassTargets NAMESPACE Hourglass::
  DESTINATION ${package_dir} COMPONENT development)

configure_package_config_file(cmake/HourglassConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/HourglassConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/HourglassConfigVersion.cmake
  # Before 1.0 a minor version may change the interface.
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/HourglassConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/HourglassConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT development)

if(TARGET hourglass)
  install(TARGETS hourglass
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
endif()
include(cmake/package.cmake)

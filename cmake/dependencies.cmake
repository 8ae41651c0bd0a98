# Everything comes from Debian's packages; tools/install_dependencies.sh has
# their names.
find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS filesystem)
find_package(RocksDB REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(spdlog REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(hiredis REQUIRED IMPORTED_TARGET hiredis)
# The protocol front only: what a host links needs none of these.
find_package(OpenSSL REQUIRED)
find_package(Protobuf REQUIRED)
pkg_check_modules(grpcpp REQUIRED IMPORTED_TARGET grpc++)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)

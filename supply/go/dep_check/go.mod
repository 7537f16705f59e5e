module groundup.cloud/dep_check

go 1.24

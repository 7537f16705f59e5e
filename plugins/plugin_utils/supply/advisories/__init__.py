"""Match packages of artifacts and hosts with advisories that the operator gives as files; nothing is downloaded.

`parts` says what is installed where, `debian` and `osv` read the two formats, `versions` orders versions, `report` puts
it together.
"""

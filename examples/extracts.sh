#!/bin/sh
# Make the bundled extracts anew from the whole data sets: sh examples/extracts.sh data
# docs/use-cases/README.md says where they are published and how their CSV files are made.
set -e
data=${1:?the folder with the data sets}
here=$(dirname "$0")
spaseq=${SPASEQ:-spaseq}

$spaseq convert smart_home --data "$data" --out "$here/smart-grid" --compress --from 2012-06-08T15:00 --to 2012-06-08T15:30
$spaseq convert vessels --data "$data" --out "$here/vessels" --compress --to 2022-01-03T01:00 --only 368179250,368124590,367514490,367702470,316045066,367744110,367537450,366995440,316015121,367456750,367004950,366996510,316005243,316001235,316001238,316001252,316001262,316009547,316028554,338306963,366973830,367602610,367723710,368105050,368223120,316003667,316005725,338073000,366850210,366899270,366920510,316004910,316043882,357910000,366904950,367341010,477524100
$spaseq convert berka --data "$data" --out "$here/cards" --compress --only 555,979,816,47,361,2417,1332,477,2,207,428,657,903,1127,1372,1589,1801,2010,2293,2527,2732,2989,3221,3505,3738
$spaseq convert bars --data "$data" --out "$here/stocks/bars" --compress --from 2013-10-07 --to 2013-10-09 --only AIG,IBM,SPY
$spaseq convert ticks --data "$data" --out "$here/stocks/trades" --compress --from 2013-10-07T14:20:30 --to 2013-10-07T14:24:30
$spaseq convert citybench --data "$data" --out "$here/citybench" --compress --from 2014-09-01T05:00 --to 2014-09-01T08:00
$spaseq convert traffic --data "$data" --out "$here/traffic" --compress --from 2014-09-01T04:30 --to 2014-09-01T07:00 --only 158715,158983,173225,179202,179390,179444,180573,180601,180627,180681,184595,184621,185104,185131,185316,185422,187032,187059,187085,187138,187456,195446,195499,195552,195605,195631,197626,197679,201749,201802,201855,201881,201908
